import type { Dispatcher } from 'undici';
import { ANSWER_BYTES, type Posted, post } from '../../../platform/http/post.ts';
import { parseRetryAfter } from '../../../platform/http/retry-after.ts';
import { cutBytes } from '../log/delivery.ts';
import { failureClass, statusClass, TIMEOUT } from './failure-class.ts';
import { sign } from '../endpoints/signing.ts';
import type { Target, TargetParts } from './target.ts';

const EMPTY = Buffer.alloc(0);

/** A success that took longer than this puts an endpoint into the slow lane, like a failure. */
const SLOW_MS = 1000;

/** What one attempt sends. */
export interface Message {
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
  /** No request was made, for a reason that is not the receiver's: the delivery ends, and the endpoint's counters stay. */
  refused?: true;
}

/** What attempts are made with. */
export interface Sender extends TargetParts {
  agent: Dispatcher;
  /** Makes a connection of its own for each request. */
  freshAgent: Dispatcher;
  settings: TargetParts['settings'] & { timeoutMs: number };
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

async function send(sender: Sender, target: Target, { messageId, body }: Message, at: Date): Promise<Posted> {
  const { timeoutMs } = sender.settings;
  const began = performance.now();
  const seconds = Math.floor(at.getTime() / 1000);
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Belfry-Webhooks',
    'webhook-id': messageId,
    'webhook-timestamp': String(seconds),
    'webhook-signature': sign(target.keys, messageId, seconds, body),
  };
  const first = await post(sender.agent, { url: target.url, headers, body, timeoutMs });
  if (first.error === undefined || !wasIdleConnection(first)) return first;
  const left = timeoutMs - (performance.now() - began);
  if (left < 1) return first;
  return post(sender.freshAgent, { url: target.url, headers, body, timeoutMs: left, lastOfConnection: true });
}

function errorOf({ late, error, status }: Posted): string | null {
  if (late) return TIMEOUT;
  const byStatus = status === undefined ? null : statusClass(status);
  return byStatus ?? (error === undefined ? null : failureClass(error));
}

/** A text that Postgres can hold: bytes that are no UTF-8 become U+FFFD, so does NUL. */
function answerText(answer: Buffer): string {
  return answer.length === 0 ? '' : cutBytes(answer.toString('utf8').replaceAll('\0', '\u{FFFD}'), ANSWER_BYTES);
}

/** The outcome of an attempt that is refused before its request. */
export function refusedOutcome(error: string): Outcome {
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

/** Makes one attempt: signs, sends, and says what came of it. Never rejects. */
export async function deliver(sender: Sender, target: Target | Error, message: Message): Promise<Outcome> {
  const at = new Date();
  const began = performance.now();
  const posted: Posted =
    target instanceof Error ? { answer: EMPTY, error: target } : await send(sender, target, message, at);
  const durationMs = Math.round(performance.now() - began);
  const error = errorOf(posted);
  return {
    ok: error === null,
    at: at.toISOString(),
    statusCode: posted.status ?? null,
    durationMs,
    error,
    response: posted.status === undefined ? null : answerText(posted.answer),
    retryAfterMs: parseRetryAfter(posted.retryAfter, Date.now()),
    gone: posted.status === 410,
    slow: error !== null || durationMs > SLOW_MS,
  };
}
