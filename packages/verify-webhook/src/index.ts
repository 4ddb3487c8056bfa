// Receivers import or copy this file alone, so it imports nothing else from this project. It must run on Node 18, Bun and Deno: apart from
// node:crypto, it uses only web platform APIs. For browsers and Workers, scripts/package/bundle-verify-webhook.ts replaces node:crypto.
import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto';

/** Names the check that a request did not pass. */
export type WebhookVerificationCode =
  | 'INVALID_SECRET'
  | 'INVALID_BODY'
  | 'MISSING_HEADER'
  | 'INVALID_HEADER'
  | 'TIMESTAMP_TOO_OLD'
  | 'TIMESTAMP_TOO_NEW'
  | 'SIGNATURE_MISMATCH'
  | 'INVALID_PAYLOAD';

/** Thrown if a request is not a genuine, recent webhook. `code` names the failed check; the message contains no secret or signature. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  readonly code: WebhookVerificationCode;

  constructor(code: WebhookVerificationCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The body of a webhook. */
export interface WebhookPayload {
  /** The event, such as `post.created`. */
  type: string;
  /** When the event happened, as ISO 8601 in UTC. */
  timestamp: string;
  /** The record, as the endpoint's owner may read it. */
  data: unknown;
}

/** The headers of a request: a plain object with names in any case, Node's `request.headers`, or a `fetch` `Headers`. */
export type WebhookHeaders =
  | { get(name: string): string | null | undefined }
  | { readonly [name: string]: string | readonly string[] | undefined };

// Anyone can send a request with thousands of signatures, each of which costs a pass over the body. While secrets are rotated, a sender
// sends a few, the newest first.
const MAX_SIGNATURES = 20;

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
  { toleranceSeconds = 300, now = Date.now() }: { toleranceSeconds?: number; now?: Date | number } = {},
): Payload {
  const isGenuine = createSignatureCheck(secret);
  // An object can have the prototype of Uint8Array without being bytes.
  if (typeof rawBody !== 'string' && !(rawBody instanceof Uint8Array && ArrayBuffer.isView(rawBody))) {
    throw new WebhookVerificationError('INVALID_BODY', 'Pass the raw body as a string or bytes, not a parsed body');
  }
  const id = readHeader(headers, 'webhook-id');
  const timestamp = readHeader(headers, 'webhook-timestamp');
  const signatures = readHeader(headers, 'webhook-signature');
  assertRecentTimestamp(timestamp, toleranceSeconds, Number(now));
  // With a full stop in the id, the same signed text could be read as two different messages.
  if (id.includes('.')) throw new WebhookVerificationError('INVALID_HEADER', 'The header webhook-id is malformed');

  if (!isGenuine(`${id}.${timestamp}.`, rawBody, signatures.split(' ', MAX_SIGNATURES))) {
    throw new WebhookVerificationError('SIGNATURE_MISMATCH', 'No signature matches: wrong secret or changed body');
  }
  return parseJsonBody(rawBody) as Payload;
}

/** Returns whether one of the signatures matches the signed text, which is `start` followed by `body`. */
type SignatureCheck = (start: string, body: string | Uint8Array, signatures: readonly string[]) => boolean;

function createSignatureCheck(secret: unknown): SignatureCheck {
  if (typeof secret === 'string' && secret.startsWith('whpk_'))
    return createPublicKeyCheck(secret.slice('whpk_'.length));
  const encoded = typeof secret === 'string' ? secret.replace(/^whsec_/, '').replace(/=+$/, '') : '';
  const key = decodeBase64(encoded);
  if (key === undefined || key.length === 0) {
    throw new WebhookVerificationError('INVALID_SECRET', 'The secret is not whsec_ or whpk_ followed by base64');
  }
  return (start, body, signatures) => {
    const mac = createHmac('sha256', key).update(start).update(body).digest('base64');
    return signatures.some((signature) => isEqualInConstantTime(signature, `v1,${mac}`));
  };
}

/** Verifies signatures with a public key. Ignores `v1` signatures: anyone could compute them from a public key. */
function createPublicKeyCheck(publicKey: string): SignatureCheck {
  const bytes = decodeBase64(publicKey.replace(/=$/, ''));
  if (bytes?.length !== 32) {
    throw new WebhookVerificationError(
      'INVALID_SECRET',
      'The public key is not whpk_ followed by the base64 of 32 bytes',
    );
  }
  const key = importPublicKey(bytes);
  return (start, body, signatures) => {
    const parts = [new TextEncoder().encode(start), typeof body === 'string' ? new TextEncoder().encode(body) : body];
    const text = new Uint8Array(parts[0]!.length + parts[1]!.length);
    text.set(parts[0]!);
    text.set(parts[1]!, parts[0]!.length);
    return signatures.some((signature) => {
      const given = /^v1a,([A-Za-z0-9+/]{86})==$/.exec(signature)?.[1];
      const decoded = given === undefined ? undefined : decodeBase64(given);
      return decoded !== undefined && key !== undefined && verify(null, text, key, decoded);
    });
  };
}

/**
 * Returns undefined if the bytes encode no point and the runtime refuses such a key, as Deno does. Others accept it; either way, no
 * signature matches.
 */
function importPublicKey(bytes: Uint8Array): ReturnType<typeof createPublicKey> | undefined {
  const x = toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace('=', '');
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  } catch {
    return undefined;
  }
}

/** Decodes a text of base64 without padding; undefined for any other text. */
function decodeBase64(encoded: string): Uint8Array | undefined {
  const text = decodeBase64ToText(encoded);
  // The decoder skips white space and ignores spare bits, so encode again to check that the text was canonical.
  if (text === undefined || btoa(text).replace(/=+$/, '') !== encoded) return undefined;
  return Uint8Array.from(text, (byte) => byte.charCodeAt(0));
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** Decodes base64 to a text with one character per byte; undefined if the text is not base64. */
function decodeBase64ToText(encoded: string): string | undefined {
  try {
    return atob(encoded);
  } catch {
    return undefined;
  }
}

function readHeader(headers: unknown, name: string): string {
  const values = readHeaderValues(headers, name).flat();
  if (values.length === 0) throw new WebhookVerificationError('MISSING_HEADER', `The header ${name} is missing`);
  const [value] = values;
  if (values.length > 1 || typeof value !== 'string' || value === '') {
    throw new WebhookVerificationError('INVALID_HEADER', `The header ${name} is malformed or given twice`);
  }
  return value;
}

function readHeaderValues(headers: unknown, name: string): unknown[] {
  if (typeof headers !== 'object' || headers === null) return [];
  let values: unknown[];
  if ('get' in headers && typeof headers.get === 'function') {
    try {
      values = [headers.get(name)];
    } catch {
      values = [];
    }
  } else {
    values = Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? [value] : []));
  }
  return values.filter((value) => value !== undefined && value !== null);
}

function assertRecentTimestamp(timestamp: string, toleranceSeconds: number, nowMs: number): void {
  if (!/^\d{1,15}$/.test(timestamp)) {
    throw new WebhookVerificationError('INVALID_HEADER', 'The header webhook-timestamp is not a Unix time in seconds');
  }
  const age = Math.floor(nowMs / 1000) - Number(timestamp);
  // Written so that a tolerance or time that is NaN fails the check instead of passing it.
  if (Math.abs(age) <= toleranceSeconds) return;
  if (age < 0) throw new WebhookVerificationError('TIMESTAMP_TOO_NEW', 'The webhook’s timestamp is in the future');
  throw new WebhookVerificationError('TIMESTAMP_TOO_OLD', 'The webhook’s timestamp is too old');
}

function isEqualInConstantTime(given: string, expected: string): boolean {
  const encoder = new TextEncoder();
  const [left, right] = [encoder.encode(given), encoder.encode(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function parseJsonBody(rawBody: string | Uint8Array): unknown {
  try {
    return JSON.parse(
      typeof rawBody === 'string' ? rawBody : new TextDecoder('utf-8', { fatal: true }).decode(rawBody),
    );
  } catch {
    throw new WebhookVerificationError('INVALID_PAYLOAD', 'The signature is valid, but the body is not JSON');
  }
}
