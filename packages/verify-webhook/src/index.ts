import {
  createMismatchError,
  parseJsonBody,
  parseKey,
  readMessage,
  type WebhookHeaders,
  type WebhookPayload,
} from './message.ts';
import { isGenuine } from './node-signatures.ts';

export {
  type WebhookHeaders,
  type WebhookPayload,
  type WebhookVerificationCode,
  WebhookVerificationError,
} from './message.ts';

/**
 * Verifies that a request is a recent webhook signed with `secret`, and returns its payload. It follows Standard Webhooks: `v1` is the
 * HMAC-SHA256 of `id.timestamp.body`, compared in constant time; `v1a` is its ed25519 signature.
 *
 * @param secret the endpoint's `whsec_…`, which verifies `v1` signatures, or its public key `whpk_…`, which verifies `v1a` signatures
 * @param headers must contain `webhook-id`, `webhook-timestamp` and `webhook-signature`; one matching signature among the
 *   first 20 is enough
 * @param rawBody the body exactly as received, before any parser has processed it
 * @param options `toleranceSeconds`: the maximum distance of the timestamp from now, in both directions (300); `now`: the current time,
 *   a Date or epoch milliseconds
 * @throws WebhookVerificationError, and no other error, for any request
 * @example
 * export default {
 *   async fetch(request, env) {
 *     const event = verifyWebhook(env.WEBHOOK_SECRET, request.headers, await request.text());
 *     return new Response(null, { status: 204 });
 *   },
 * };
 */
export function verifyWebhook<Payload = WebhookPayload>(
  secret: string,
  headers: WebhookHeaders,
  rawBody: string | Uint8Array,
  { toleranceSeconds, now }: { toleranceSeconds?: number; now?: Date | number } = {},
): Payload {
  const key = parseKey(secret);
  const message = readMessage(headers, rawBody, { toleranceSeconds, now });
  if (!isGenuine(key, message)) throw createMismatchError();
  return parseJsonBody(rawBody) as Payload;
}
