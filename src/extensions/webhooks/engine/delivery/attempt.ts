import type { KeyObject } from 'node:crypto';
import type { Dispatcher } from 'undici';
import {
  AddressRefusedError,
  checkUrl,
  DecryptionError,
  type Logger,
  MAX_RESPONSE_BYTES,
  type PostResult,
  parseRetryAfter,
  sendPost,
} from '../../../../extension/index.ts';
import { truncateToBytes } from '../../deliveries/message.ts';
import { type HeaderList, hideHeaderValues } from '../../endpoints/headers.ts';
import { createSignatureHeader, type SigningKeyLookup } from '../../endpoints/signing.ts';

/** The error of an attempt whose response did not arrive in time. Errors of attempts are shown to the endpoint's owner. */
const TIMEOUT = 'timeout';
/** One error for host names that do not exist and for private addresses, so that it does not reveal the names of a private network. */
const NOT_ALLOWED = 'address not allowed or not found';

/** The error of a failed attempt whose response asked for no further attempts of this message. */
export const ABORTED = 'aborted by the receiver';

/** The custom headers of an endpoint cannot be decrypted. */
class HeadersNotReadableError extends Error {}

const FAILURE_CLASSES: readonly [RegExp, string][] = [
  [/^(UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|ETIMEDOUT)$/, TIMEOUT],
  [/^ECONNREFUSED$/, 'connection refused'],
  [/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EHOSTDOWN|ENETDOWN)$/, 'host unreachable'],
  [
    /^(CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)/,
    'tls certificate not valid',
  ],
  [/^(ERR_TLS_|ERR_SSL_|EPROTO)/, 'tls handshake failed'],
  [
    /^(UND_ERR_SOCKET|ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|UND_ERR_ABORTED)$/,
    'connection closed',
  ],
];

/** Converts the error of a request to a text for the endpoint's owner. An unknown error counts as an invalid response of the receiver. */
export function describeRequestError(error: unknown): string {
  if (error instanceof AddressRefusedError) return NOT_ALLOWED;
  if (error instanceof HeadersNotReadableError) return 'headers not readable';
  if (error instanceof DecryptionError) return 'signing secret not readable';
  const code = String((error as { code?: unknown } | null)?.code ?? '');
  return FAILURE_CLASSES.find(([pattern]) => pattern.test(code))?.[1] ?? 'invalid answer';
}

/** Converts the HTTP status of a receiver's response to an error text for the endpoint's owner; null for a success (2xx). */
export function describeErrorStatus(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? 'redirect' : `status ${status}`;
}

/** The URL, the signing keys and the custom headers of an endpoint, computed once for all deliveries that were claimed together. */
export interface Target {
  url: URL;
  /** The keys that sign each message, the newest first. */
  keys: KeyObject[];
  headers: HeaderList;
}

/** What `createAttemptTarget` needs. */
interface TargetDependencies {
  keys: SigningKeyLookup;
  /** Decrypts the stored headers of an endpoint. */
  readHeaders(endpointId: string, stored: string): HeaderList;
  log: Logger;
  settings: { allowPrivate: boolean; requireHttps: boolean };
}

/** An endpoint at the time of the claim. Secrets are ciphertexts as stored: the newest first, then those still in their grace period. */
interface TargetEndpoint {
  id: string;
  url: string;
  secrets: readonly string[];
  /** The ciphertext of the custom headers; null without headers. */
  headers: string | null;
}

const NO_HEADERS: HeaderList = [];

/** Returns the custom headers of an endpoint, or the error with which every attempt at the endpoint ends. */
function readHeaders(
  { readHeaders: decrypt, log }: TargetDependencies,
  { id, headers }: TargetEndpoint,
): HeaderList | HeadersNotReadableError {
  if (headers === null) return NO_HEADERS;
  try {
    return decrypt(id, headers);
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    log.error({ err: error, endpoint: id }, 'the headers of a webhook endpoint cannot be decrypted');
    return new HeadersNotReadableError();
  }
}

/** Returns the URL, the signing keys and the headers for attempts at an endpoint, or the error with which every attempt at the endpoint ends. */
export function createAttemptTarget(parts: TargetDependencies, endpoint: TargetEndpoint): Target | Error {
  const { keys, log, settings } = parts;
  const checked = checkUrl(endpoint.url, settings);
  if (!checked.ok) return new AddressRefusedError(checked.reason);
  const headers = readHeaders(parts, endpoint);
  if (headers instanceof Error) return headers;
  try {
    return { url: checked.url, headers, keys: endpoint.secrets.flatMap((secret) => keys(endpoint.id, secret)) };
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    // This process lacks the key that the secret was encrypted with: an error of the server's configuration, not of the receiver.
    log.error({ err: error, endpoint: endpoint.id }, 'the secret of a webhook endpoint cannot be decrypted');
    return error;
  }
}

const EMPTY = Buffer.alloc(0);

/** A successful attempt that took more ms than this moves its endpoint to the queue for slow endpoints, as a failed attempt does. */
const SLOW_MS = 1000;

/** The message that an attempt sends to an endpoint. */
interface Message {
  messageId: string;
  body: string;
  /** The W3C trace context to send. It is not part of the signature. */
  traceparent?: string | undefined;
  /** Whether a backfill created the delivery. */
  isBackfill?: boolean;
}

/** The outcome of one attempt to send a delivery. */
export interface Outcome {
  ok: boolean;
  /** When the attempt began, as ISO 8601. */
  at: string;
  statusCode: number | null;
  durationMs: number;
  /** The kind of failure in words, such as `timeout`; null if the attempt succeeded. */
  error: string | null;
  /** The start of the response, as text that Postgres can store. */
  response: string | null;
  retryAfterMs: number | null;
  /** Whether the receiver wants no more messages: it responded with 410 Gone or `webhook-delivery: disable`. */
  gone: boolean;
  /** Whether the attempt failed or was slow. */
  slow: boolean;
  /** True if no request was made because the owner may not read the body. The delivery fails; the endpoint's counters do not change. */
  refused?: true;
}

/** What `makeAttempt` needs. */
export interface Sender extends TargetDependencies {
  agent: Dispatcher;
  /** Opens a new connection for each request. */
  freshAgent: Dispatcher;
  settings: TargetDependencies['settings'] & { timeoutMs: number };
}

/** Whether a reused connection ended before the first byte of this response: the receiver closed it as idle. */
function wasClosedWhileIdle({ status, error }: PostResult): boolean {
  const read = (error as { bytesRead?: number; socket?: { bytesRead?: number } } | undefined) ?? {};
  return (
    status === undefined &&
    describeRequestError(error) === 'connection closed' &&
    (read.bytesRead ?? read.socket?.bytesRead ?? 0) > 0
  );
}

async function sendSignedRequest(
  sender: Sender,
  target: Target,
  { messageId, body, traceparent, isBackfill }: Message,
  at: Date,
): Promise<PostResult> {
  const { timeoutMs } = sender.settings;
  const began = performance.now();
  const seconds = Math.floor(at.getTime() / 1000);
  const headers = {
    ...Object.fromEntries(target.headers),
    'content-type': 'application/json',
    'user-agent': 'Belfry-Webhooks',
    'webhook-id': messageId,
    'webhook-timestamp': String(seconds),
    'webhook-signature': createSignatureHeader(target.keys, messageId, seconds, body),
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(isBackfill ? { 'webhook-backfill': 'true' } : {}),
  };
  const first = await sendPost(sender.agent, { url: target.url, headers, body, timeoutMs });
  if (first.error === undefined || !wasClosedWhileIdle(first)) return first;
  const left = timeoutMs - (performance.now() - began);
  if (left < 1) return first;
  return sendPost(sender.freshAgent, { url: target.url, headers, body, timeoutMs: left, closeConnection: true });
}

/** Returns what the header `webhook-delivery` of a response asks for. Other words have no meaning yet. */
function parseDeliveryControl({ webhookDelivery = '' }: PostResult): { disable: boolean; abort: boolean } {
  const words = webhookDelivery.toLowerCase().split(',');
  const has = (asked: string) => words.some((word) => word.trim() === asked);
  return { disable: has('disable'), abort: has('abort-message') };
}

function describeAttemptError({ isTimedOut: timedOut, error, status }: PostResult): string | null {
  if (timedOut) return TIMEOUT;
  const byStatus = status === undefined ? null : describeErrorStatus(status);
  return byStatus ?? (error === undefined ? null : describeRequestError(error));
}

/** Converts a response to text that can be stored: invalid UTF-8 and NUL become U+FFFD, and the values of custom headers become dots. */
function toStorableText(body: Buffer, headers: HeaderList): string {
  if (body.length === 0) return '';
  const text = body.toString('utf8').replaceAll('\0', '\u{FFFD}');
  return truncateToBytes(headers.length === 0 ? text : hideHeaderValues(text, headers), MAX_RESPONSE_BYTES);
}

/**
 * Returns the outcome of a delivery that is not sent because the endpoint's owner may not read its body, now or any longer. Unlike an
 * address that is not allowed, it does not count as a failure of the endpoint.
 */
export function createNotReadableOutcome(error: string): Outcome {
  return {
    ok: false,
    at: new Date().toISOString(),
    statusCode: null,
    durationMs: 0,
    error,
    response: null,
    retryAfterMs: null,
    gone: false,
    slow: false,
    refused: true,
  };
}

/** Makes one attempt to deliver a message: signs the message, sends it and returns the outcome. Never rejects. */
export async function makeAttempt(sender: Sender, target: Target | Error, message: Message): Promise<Outcome> {
  const at = new Date();
  const began = performance.now();
  const posted: PostResult =
    target instanceof Error
      ? { responseBody: EMPTY, error: target }
      : await sendSignedRequest(sender, target, message, at);
  const durationMs = Math.round(performance.now() - began);
  const failure = describeAttemptError(posted);
  const { disable, abort } = parseDeliveryControl(posted);
  const gone = posted.status === 410 || disable;
  const error = failure !== null && abort ? ABORTED : failure;
  return {
    ok: error === null,
    at: at.toISOString(),
    statusCode: posted.status ?? null,
    durationMs,
    error,
    response:
      posted.status === undefined
        ? null
        : toStorableText(posted.responseBody, target instanceof Error ? NO_HEADERS : target.headers),
    retryAfterMs: parseRetryAfter(posted.retryAfter, Date.now()),
    gone,
    // A receiver that aborts a message works. One that is gone gets nothing more under this lease.
    slow: gone || (error !== null && error !== ABORTED) || durationMs > SLOW_MS,
  };
}
