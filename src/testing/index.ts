export type { ApiResponse, RequestOptions, TestApi } from './api.ts';
export type { CapturedMessages, MailFilter, PushFilter } from './captured.ts';
export type { Period, TestClock } from './clock/test-clock.ts';
export { type AppDefinition, createTestApp, type TestAppOptions } from './create-test-app.ts';
export type { TestApp } from './test-app.ts';
export type { TestUser } from './users.ts';
export type { WaitOptions } from './wait.ts';
export type { ReceivedWebhook, WebhookReceiver } from './webhook-receiver.ts';
