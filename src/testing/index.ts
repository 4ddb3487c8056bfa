export type { ApiResponse, RequestOptions, TestApi } from './api.ts';
export { type AppDefinition, createTestApp, type TestApp, type TestAppOptions } from './create-test-app.ts';
export type { TestUser } from './users.ts';
