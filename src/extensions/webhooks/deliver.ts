import type { Dispatcher } from 'undici';
import { checkUrl } from '../../platform/address-guard.ts';
import { DecryptionError } from '../../platform/crypto/keyring.ts';
import { ANSWER_BYTES, type Posted, post } from '../../platform/http/post.ts';
import { parseRetryAfter } from '../../platform/http/retry-after.ts';
import type { Logger } from '../../platform/log.ts';
import { cutBytes } from './delivery.ts';
import { failureClass, NOT_ALLOWED, statusClass, TIMEOUT } from './failure-class.ts';
import { type SigningKeys, signatureHeaders } from './signing-keys.ts';

/** A success that took longer than this puts an endpoint into the slow lane, like a failure. */
const SLOW_MS = 1000;

/** What one attempt is made of. */
export interface Attempt {
  endpointId: string;
  url: string;
  /** As stored: ciphertexts. The newest first, then those that are still in their grace time. */
  secrets: readonly string[];
  messageId: string;
  body: string;
}

/** What came of one attempt. */
export interface Outcome {
  ok: boolean;
  /** ISO 8601: when it began. */
  at: string;
  statusCode: number | null;
  durationMs: number;
  /** The class of the failure; null for a success. */
  error: string | null;
  /** The start of the answer, as text that Postgres can hold. */
  response: string | null;
  retryAfterMs: number | null;
  /** The receiver wants nothing more, ever. */
  gone: boolean;
  /** It failed, or took long. */
  slow: boolean;
}

/** What attempts are made with. */
export interface Sender {
  agent: Dispatcher;
  /** Makes a connection of its own for each request. */
  freshAgent: Dispatcher;
  keys: SigningKeys;
  log: Logger;
  settings: { allowPrivate: boolean; requireHttps: boolean; timeoutMs: number };
}

/** A connection that had been answered on before, and that ended without a byte of this answer: the receiver closed it as idle. */
function wasIdleConnection({ status, error }: Posted): boolean {
  const read = (error as { bytesRead?: number; socket?: { bytesRead?: number } } | undefined) ?? {};
  return (
    status === undefined &&
    failureClass(error) === 'connection closed' &&
    (read.bytesRead ?? read.socket?.bytesRead ?? 0) > 0
  );
}

/** A secret under a key that this process does not have is a fault of ours: the attempt fails, and the log says why. */
function signatureOf({ keys, log }: Sender, attempt: Attempt): Record<string, string> | DecryptionError {
  try {
    return signatureHeaders(keys, attempt, Math.floor(Date.now() / 1000));
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    log.error({ err: error, endpoint: attempt.endpointId }, 'the secret of a webhook endpoint cannot be decrypted');
    return error;
  }
}

async function send(sender: Sender, attempt: Attempt, url: URL, began: number): Promise<Posted> {
  const { timeoutMs } = sender.settings;
  const signature = signatureOf(sender, attempt);
  if (signature instanceof DecryptionError) return { answer: Buffer.alloc(0), error: signature };
  const headers = { 'content-type': 'application/json', 'user-agent': 'Belfry-Webhooks', ...signature };
  const request = { url, headers, body: attempt.body };
  const first = await post(sender.agent, { ...request, timeoutMs });
  const left = timeoutMs - (performance.now() - began);
  if (first.error === undefined || !wasIdleConnection(first) || left < 1) return first;
  return post(sender.freshAgent, { ...request, timeoutMs: left, lastOfConnection: true });
}

function errorOf({ late, error, status }: Posted): string | null {
  if (late) return TIMEOUT;
  const byStatus = status === undefined ? null : statusClass(status);
  return byStatus ?? (error === undefined ? null : failureClass(error));
}

/** A text that Postgres can hold: bytes that are no UTF-8 become U+FFFD, so does NUL. */
function answerText(answer: Buffer): string {
  return cutBytes(answer.toString('utf8').replaceAll('\0', '\u{FFFD}'), ANSWER_BYTES);
}

/**
 * Makes one attempt: checks the URL, signs, sends, and says what came of it. Never rejects.
 */
export async function deliver(sender: Sender, attempt: Attempt): Promise<Outcome> {
  const at = new Date().toISOString();
  const began = performance.now();
  const checked = checkUrl(attempt.url, sender.settings);
  const posted = checked.ok ? await send(sender, attempt, checked.url, began) : undefined;
  const durationMs = Math.round(performance.now() - began);
  const error = posted === undefined ? NOT_ALLOWED : errorOf(posted);
  return {
    ok: error === null,
    at,
    statusCode: posted?.status ?? null,
    durationMs,
    error,
    response: posted?.status === undefined ? null : answerText(posted.answer),
    retryAfterMs: parseRetryAfter(posted?.retryAfter, Date.now()),
    gone: posted?.status === 410,
    slow: error !== null || durationMs > SLOW_MS,
  };
}
