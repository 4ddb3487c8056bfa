// What all entry points share: reading a request, its secret and its payload. It imports nothing and uses only web platform APIs.

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

/** A request as a webhook, before its signature is verified. */
export interface WebhookMessage {
  id: string;
  /** The start of the signed text. The body follows. */
  start: string;
  body: string | Uint8Array;
  signatures: readonly string[];
}

/** The default of `toleranceSeconds`. */
export const DEFAULT_TOLERANCE_SECONDS = 300;

/** The options of a verification. */
interface VerifyOptions {
  /** The maximum distance of the timestamp from now, in both directions. Default: 300. */
  toleranceSeconds?: number;
  /** The current time, as a Date or epoch milliseconds. */
  now?: Date | number;
}

/** Reads a request as a webhook. @throws WebhookVerificationError if it is not one, or not a recent one */
export function readMessage(headers: unknown, rawBody: string | Uint8Array, options: VerifyOptions): WebhookMessage {
  // An object can have the prototype of Uint8Array without being bytes.
  if (typeof rawBody !== 'string' && !(rawBody instanceof Uint8Array && ArrayBuffer.isView(rawBody))) {
    throw new WebhookVerificationError('INVALID_BODY', 'Pass the raw body as a string or bytes, not a parsed body');
  }
  return { ...readHead(headers, options), body: rawBody };
}

/** Reads the headers of a webhook. @throws WebhookVerificationError if they are not those of a webhook, or not of a recent one */
export function readHead(
  headers: unknown,
  { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, now = Date.now() }: VerifyOptions,
): Omit<WebhookMessage, 'body'> {
  const id = readHeader(headers, 'webhook-id');
  const timestamp = readHeader(headers, 'webhook-timestamp');
  const signatures = readHeader(headers, 'webhook-signature');
  assertRecentTimestamp(timestamp, toleranceSeconds, Number(now));
  // With a full stop in the id, the same signed text could be read as two different messages.
  if (id.includes('.')) throw new WebhookVerificationError('INVALID_HEADER', 'The header webhook-id is malformed');
  return { id, start: `${id}.${timestamp}.`, signatures: signatures.split(' ', MAX_SIGNATURES) };
}

/** A parsed secret. */
export interface WebhookKey {
  /** `v1`: a secret for HMAC; `v1a`: a public key for ed25519. */
  scheme: 'v1' | 'v1a';
  bytes: Uint8Array<ArrayBuffer>;
}

/** Parses a `whsec_…` or `whpk_…`. @throws WebhookVerificationError */
export function parseKey(secret: unknown): WebhookKey {
  if (typeof secret === 'string' && secret.startsWith('whpk_')) {
    const bytes = decodeBase64(secret.slice('whpk_'.length).replace(/=$/, ''));
    if (bytes?.length === 32) return { scheme: 'v1a', bytes };
    throw new WebhookVerificationError(
      'INVALID_SECRET',
      'The public key is not whpk_ followed by the base64 of 32 bytes',
    );
  }
  const encoded = typeof secret === 'string' ? secret.replace(/^whsec_/, '').replace(/=+$/, '') : '';
  const bytes = decodeBase64(encoded);
  if (bytes === undefined || bytes.length === 0) {
    throw new WebhookVerificationError('INVALID_SECRET', 'The secret is not whsec_ or whpk_ followed by base64');
  }
  return { scheme: 'v1', bytes };
}

/** Returns the bytes that the signatures cover. */
export function encodeSignedText({ start, body }: WebhookMessage): Uint8Array<ArrayBuffer> {
  const parts = [new TextEncoder().encode(start), typeof body === 'string' ? new TextEncoder().encode(body) : body];
  const text = new Uint8Array(parts[0]!.length + parts[1]!.length);
  text.set(parts[0]!);
  text.set(parts[1]!, parts[0]!.length);
  return text;
}

// Each costs a hash of the body and more. A sender has at most three keys at a time.
const MAX_KEY_SIGNATURES = 4;

/** Returns the bytes of the first well-formed ed25519 signatures among those of a message. */
export function decodeKeySignatures({ signatures }: WebhookMessage): Uint8Array<ArrayBuffer>[] {
  const decoded = signatures.flatMap((signature) => {
    const given = /^v1a,([A-Za-z0-9+/]{86})==$/.exec(signature)?.[1];
    return given === undefined ? [] : (decodeBase64(given) ?? []);
  });
  return decoded.slice(0, MAX_KEY_SIGNATURES);
}

/** Creates the error for a message that no signature matches. */
export const createMismatchError = (): WebhookVerificationError =>
  new WebhookVerificationError('SIGNATURE_MISMATCH', 'No signature matches: wrong secret or changed body');

/** Decodes a text of base64 without padding; undefined for any other text. */
function decodeBase64(encoded: string): Uint8Array<ArrayBuffer> | undefined {
  const text = decodeBase64ToText(encoded);
  // The decoder skips white space and ignores spare bits, so encode again to check that the text was canonical.
  if (text === undefined || btoa(text).replace(/=+$/, '') !== encoded) return undefined;
  return Uint8Array.from(text, (byte) => byte.charCodeAt(0));
}

/** Encodes bytes as base64. */
export function toBase64(bytes: Uint8Array): string {
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

/** Parses the body of a genuine message. @throws WebhookVerificationError */
export function parseJsonBody(rawBody: string | Uint8Array): unknown {
  try {
    return JSON.parse(
      typeof rawBody === 'string' ? rawBody : new TextDecoder('utf-8', { fatal: true }).decode(rawBody),
    );
  } catch {
    throw new WebhookVerificationError('INVALID_PAYLOAD', 'The signature is valid, but the body is not JSON');
  }
}
