export { defineExtension } from './declare/extension.ts';
export { f } from './declare/f.ts';
export { recordShape } from './declare/record-shape.ts';
export { defineResource } from './declare/resource.ts';
export { defineUser } from './declare/user.ts';
export { webhooks } from './extensions/webhooks/index.ts';
export { verifyWebhook, WebhookVerificationError } from './extensions/webhooks/verify-webhook.ts';
export { ApiError } from './platform/errors.ts';
export { createApp } from './runtime/create-app.ts';
