// Receivers import or copy this file alone, which is why it shares nothing with the rest. They run Node, Bun, Deno or Workers: beside
// node:crypto, which all of them have, it uses only what the web platform has too.
import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto';

/** Where a webhook failed its verification. */
export type WebhookVerificationCode =
  | 'INVALID_SECRET'
  | 'INVALID_BODY'
  | 'MISSING_HEADER'
  | 'INVALID_HEADER'
  | 'TIMESTAMP_TOO_OLD'
  | 'TIMESTAMP_TOO_NEW'
  | 'SIGNATURE_MISMATCH'
  | 'INVALID_PAYLOAD';

/** A request is not a genuine, recent webhook. `code` says what failed; the message names no secret and no signature. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  readonly code: WebhookVerificationCode;

  constructor(code: WebhookVerificationCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** What a webhook's body holds. */
export interface WebhookPayload {
  /** The event, such as `post.created`. */
  type: string;
  /** When it happened, ISO 8601 in UTC. */
  timestamp: string;
  /** The record, as the endpoint's owner would read it. */
  data: unknown;
}

/** A request's headers: a plain object in any case, Node's `request.headers`, or a `fetch` `Headers`. */
export type WebhookHeaders =
  | { get(name: string): string | null | undefined }
  | { readonly [name: string]: string | readonly string[] | undefined };

/**
 * Checks that a request is a webhook signed with `secret` and recent, and gives its payload (Standard Webhooks: `v1`, the HMAC-SHA256 of
 * `id.timestamp.body`, compared in constant time, or `v1a`, its ed25519 signature).
 *
 * @param secret the endpoint's `whsec_…`, or its public key `whpk_…`: the one checks signatures of the kind `v1`, the other `v1a`
 * @param headers must hold `webhook-id`, `webhook-timestamp` and `webhook-signature`; one matching signature of several is enough
 * @param rawBody the body exactly as received, before any parser has seen it
 * @param options `toleranceSeconds`: how far the timestamp may lie from now, either way (300); `now`: the time, a Date or epoch milliseconds
 * @throws WebhookVerificationError, and nothing else, whatever was received
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
  const isGenuine = readSecret(secret);
  if (typeof rawBody !== 'string' && !(rawBody instanceof Uint8Array)) {
    throw new WebhookVerificationError('INVALID_BODY', 'Pass the raw body, a string or bytes, not the parsed one');
  }
  const id = readHeader(headers, 'webhook-id');
  const timestamp = readHeader(headers, 'webhook-timestamp');
  const signatures = readHeader(headers, 'webhook-signature');
  checkTimestamp(timestamp, toleranceSeconds, Number(now));
  // With a full stop in the id, one signed text could be read as two different messages.
  if (id.includes('.')) throw new WebhookVerificationError('INVALID_HEADER', 'The header webhook-id is malformed');

  if (!isGenuine(`${id}.${timestamp}.`, rawBody, signatures.split(' '))) {
    throw new WebhookVerificationError('SIGNATURE_MISMATCH', 'No signature matches: another secret or a changed body');
  }
  return parse(rawBody) as Payload;
}

/** Whether one of the signatures is that of a text, which begins with `start`. */
type IsGenuine = (start: string, body: string | Uint8Array, signatures: readonly string[]) => boolean;

function readSecret(secret: unknown): IsGenuine {
  if (typeof secret === 'string' && secret.startsWith('whpk_')) return signedByOwnerOf(secret.slice('whpk_'.length));
  const encoded = typeof secret === 'string' ? secret.replace(/^whsec_/, '').replace(/=+$/, '') : '';
  const key = exactBase64(encoded);
  if (key === undefined || key.length === 0) {
    throw new WebhookVerificationError('INVALID_SECRET', 'The secret is not whsec_ or whpk_ followed by base64');
  }
  return (start, body, signatures) => {
    const mac = createHmac('sha256', key).update(start).update(body).digest('base64');
    return signatures.some((signature) => equal(signature, `v1,${mac}`));
  };
}

/** Signatures by the private key to a public one. Those of the kind `v1` are not looked at: anybody can make them with a public key. */
function signedByOwnerOf(publicKey: string): IsGenuine {
  const bytes = exactBase64(publicKey.replace(/=$/, ''));
  if (bytes?.length !== 32) {
    throw new WebhookVerificationError(
      'INVALID_SECRET',
      'The public key is not whpk_ followed by the base64 of 32 bytes',
    );
  }
  const x = toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace('=', '');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return (start, body, signatures) => {
    const parts = [new TextEncoder().encode(start), typeof body === 'string' ? new TextEncoder().encode(body) : body];
    const text = new Uint8Array(parts[0]!.length + parts[1]!.length);
    text.set(parts[0]!);
    text.set(parts[1]!, parts[0]!.length);
    return signatures.some((signature) => {
      const given = /^v1a,([A-Za-z0-9+/]{86})==$/.exec(signature)?.[1];
      const decoded = given === undefined ? undefined : exactBase64(given);
      return decoded !== undefined && verify(null, text, key, decoded);
    });
  };
}

/** The bytes of a text in base64 without padding; undefined for anything else. */
function exactBase64(encoded: string): Uint8Array | undefined {
  const text = fromBase64(encoded);
  // The decoder skips white space and ignores spare bits: only re-encoding shows that the text was exact.
  if (text === undefined || btoa(text).replace(/=+$/, '') !== encoded) return undefined;
  return Uint8Array.from(text, (byte) => byte.charCodeAt(0));
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** Bytes as a text of one character each; undefined for what is no base64. */
function fromBase64(encoded: string): string | undefined {
  try {
    return atob(encoded);
  } catch {
    return undefined;
  }
}

function readHeader(headers: unknown, name: string): string {
  const values = headerValues(headers, name).flat();
  if (values.length === 0) throw new WebhookVerificationError('MISSING_HEADER', `The header ${name} is missing`);
  const [value] = values;
  if (values.length > 1 || typeof value !== 'string' || value === '') {
    throw new WebhookVerificationError('INVALID_HEADER', `The header ${name} is malformed or given twice`);
  }
  return value;
}

function headerValues(headers: unknown, name: string): unknown[] {
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

function checkTimestamp(timestamp: string, toleranceSeconds: number, nowMs: number): void {
  if (!/^\d{1,15}$/.test(timestamp)) {
    throw new WebhookVerificationError('INVALID_HEADER', 'The header webhook-timestamp is not Unix seconds');
  }
  const age = Math.floor(nowMs / 1000) - Number(timestamp);
  // Written so that a tolerance or a time that is not a number refuses instead of letting through.
  if (Math.abs(age) <= toleranceSeconds) return;
  if (age < 0) throw new WebhookVerificationError('TIMESTAMP_TOO_NEW', 'The webhook’s timestamp lies in the future');
  throw new WebhookVerificationError('TIMESTAMP_TOO_OLD', 'The webhook’s timestamp is too old');
}

function equal(given: string, expected: string): boolean {
  const encoder = new TextEncoder();
  const [left, right] = [encoder.encode(given), encoder.encode(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function parse(rawBody: string | Uint8Array): unknown {
  try {
    return JSON.parse(
      typeof rawBody === 'string' ? rawBody : new TextDecoder('utf-8', { fatal: true }).decode(rawBody),
    );
  } catch {
    throw new WebhookVerificationError('INVALID_PAYLOAD', 'The body is signed, but it is not JSON');
  }
}
