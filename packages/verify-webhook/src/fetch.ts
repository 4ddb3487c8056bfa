// Handles webhooks with web platform APIs alone, in any runtime that has them.
import {
  decodeKeySignatures,
  encodeSignedText,
  toBase64,
  type WebhookKey,
  type WebhookMessage,
  type WebhookPayload,
} from './message.ts';
import { BodyError, createReceiver, createTooLargeError, type WebhookHandlerOptions } from './receive.ts';

export { type WebhookPayload, type WebhookVerificationCode, WebhookVerificationError } from './message.ts';
export type {
  WebhookContext,
  WebhookEventHandler,
  WebhookEventHandlers,
  WebhookEventOf,
  WebhookHandlerOptions,
} from './receive.ts';
export type { SeenStore } from './seen-store.ts';

/** Compares texts in a time that depends only on their lengths. */
function isEqualInConstantTime(left: string, right: string): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let i = 0; i < left.length; i++) difference |= left.charCodeAt(i) ^ right.charCodeAt(i);
  return difference === 0;
}

async function isSignedWithSecret(secret: Uint8Array<ArrayBuffer>, message: WebhookMessage): Promise<boolean> {
  const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const mac = toBase64(new Uint8Array(await crypto.subtle.sign('HMAC', key, encodeSignedText(message))));
  return message.signatures.some((signature) => isEqualInConstantTime(signature, `v1,${mac}`));
}

async function isSignedWithKeyPair(publicKey: Uint8Array<ArrayBuffer>, message: WebhookMessage): Promise<boolean> {
  let key: Awaited<ReturnType<typeof crypto.subtle.importKey>>;
  try {
    key = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify']);
  } catch (error) {
    // The bytes encode no point, so no signature can match. Runtimes without Ed25519 throw a NotSupportedError.
    if ((error as Error).name === 'DataError') return false;
    throw error;
  }
  const text = encodeSignedText(message);
  for (const signature of decodeKeySignatures(message))
    if (await crypto.subtle.verify('Ed25519', key, signature, text)) return true;
  return false;
}

const isGenuine = ({ scheme, bytes }: WebhookKey, message: WebhookMessage) =>
  scheme === 'v1' ? isSignedWithSecret(bytes, message) : isSignedWithKeyPair(bytes, message);

async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (request.bodyUsed)
    throw new BodyError(
      { status: 500, code: 'BODY_ALREADY_READ' },
      'The body was read before the webhook handler got the request, so its signature cannot be verified. Call the handler first, or pass it request.clone() before the body is read.',
    );
  if (Number(request.headers.get('content-length')) > maxBytes) throw createTooLargeError();
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = request.body?.getReader();
  while (reader !== undefined) {
    const { done, value } = await reader.read().catch((cause) => {
      throw new BodyError({ status: 400, code: 'BODY_INCOMPLETE' }, String(cause));
    });
    if (done) break;
    length += value.length;
    if (length > maxBytes) {
      // Cancelling would close the connection in some servers, before the response is sent.
      reader.releaseLock();
      throw createTooLargeError();
    }
    chunks.push(value);
  }
  const body = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    body.set(chunk, offset);
    offset += chunk.length;
  }
  return body;
}

/**
 * Creates a handler of webhooks for servers that pass a `Request` and return a `Response`: Hono, Next.js, Bun, Deno, Cloudflare Workers. It
 * verifies each request, handles each webhook once, and responds as the sender expects.
 *
 * @throws WebhookVerificationError if a secret is malformed
 * @example
 * export const POST = createWebhookHandler<WebhookEvents>({
 *   secret: process.env.WEBHOOK_SECRET ?? '',
 *   on: { 'post.created': async ({ data }) => console.log(data.title) },
 * });
 */
export function createWebhookHandler<Events extends { type: string } = WebhookPayload>(
  options: WebhookHandlerOptions<Events>,
): (request: Request) => Promise<Response> {
  const receive = createReceiver(options, isGenuine);
  return async (request) => {
    const { method, headers: given } = request;
    const { status, code, headers } = await receive({
      method,
      headers: given,
      readBody: (maxBytes) => readBody(request, maxBytes),
    });
    return code === undefined ? new Response(null, { status, headers }) : Response.json({ code }, { status, headers });
  };
}
