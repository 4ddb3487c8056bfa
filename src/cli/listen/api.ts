import { setTimeout as sleep } from 'node:timers/promises';
import { addJitter } from '../../platform/work/leased-work/retry-schedule.ts';
import { stripControlCharacters } from '../terminal/terminal.ts';

/** A message as `GET /api/webhooks/:id/poll` returns it. */
export interface PolledMessage {
  cursor: string;
  id: string;
  headers: Record<string, string>;
  body: string;
}

const WAIT_SECONDS = 30;
const TIMEOUT_MS = 15_000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;

/** The calls of an app that a session of `belfry listen` makes. */
export interface ListenApi {
  createEndpoint(events: readonly string[]): Promise<{ id: string; secret: string }>;
  /** Checks that the endpoint can be polled. */
  check(id: string): Promise<void>;
  deleteEndpoint(id: string): Promise<void>;
  /** Waits for messages that are not acknowledged. While the app is not reachable, tries again. */
  poll(id: string): Promise<PolledMessage[]>;
  acknowledge(id: string, cursor: string): Promise<void>;
}

/** An error response of the app that another try does not change. */
class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

interface Call {
  method: string;
  path: string;
  body?: unknown;
  /** Maximum ms until the response. */
  timeoutMs?: number;
}

function describeRefusal(status: number, text: string): string {
  try {
    const { message, details } = JSON.parse(text).error;
    const fields = Object.entries(details ?? {}).map(([name, what]) => `${name}: ${what}`);
    const what = status === 404 ? 'There is no such endpoint, or it was deleted' : [message, ...fields].join('; ');
    return `The app refused the request (${status}): ${what}`;
  } catch {
    return `The app responded with status ${status}. Is --app the address of a Belfry app?`;
  }
}

const describeFailure = (error: Error) =>
  String((error.cause as NodeJS.ErrnoException | undefined)?.code ?? error.name);

/**
 * Creates the calls.
 *
 * @param app its origin
 * @param organisation the id or slug of the organisation in which to work
 * @param signal ends the waits
 */
export function createListenApi(
  { app, token, organisation }: { app: string; token: string; organisation: string | undefined },
  signal: AbortSignal,
): ListenApi {
  /** @returns `data` of the response; undefined if another try may succeed @throws RefusedError */
  async function tryCall({ method, path, body, timeoutMs = TIMEOUT_MS }: Call, stop?: AbortSignal) {
    const timeout = AbortSignal.timeout(timeoutMs);
    const response = await fetch(`${app}/api/webhooks${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(organisation === undefined ? {} : { 'x-organisation': organisation }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // The token must not reach another server.
      redirect: 'manual',
      signal: stop === undefined ? timeout : AbortSignal.any([timeout, stop]),
    });
    const text = await response.text();
    if (response.ok) return { data: text === '' ? undefined : JSON.parse(text).data };
    if (response.status < 500 && response.status !== 429)
      throw new RefusedError(stripControlCharacters(describeRefusal(response.status, text)));
    return { retryAfterMs: Number(response.headers.get('retry-after') ?? 0) * 1000, why: `status ${response.status}` };
  }

  /** Calls until the app responds. */
  async function callUntilAnswered(call: Call) {
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(2 * retryMs, MAX_RETRY_MS)) {
      signal.throwIfAborted();
      const result = await tryCall(call, signal).catch((error: Error) => {
        if (error instanceof RefusedError || signal.aborted) throw error;
        return { why: describeFailure(error), retryAfterMs: 0 };
      });
      if ('data' in result) return result.data;
      if (retryMs === FIRST_RETRY_MS)
        console.error(`${app} is not available (${stripControlCharacters(result.why)}); trying again`);
      await sleep(Math.max(addJitter(retryMs, Math.random()), result.retryAfterMs), undefined, { signal });
    }
  }

  async function callOnce(call: Call) {
    const result = await tryCall(call).catch((error: Error) => {
      if (error instanceof RefusedError) throw error;
      return { why: describeFailure(error) };
    });
    if ('data' in result) return result.data;
    throw new Error(`${app} is not available (${stripControlCharacters(result.why)})`);
  }

  return {
    createEndpoint: (events) =>
      callOnce({ method: 'POST', path: '', body: { delivery: 'poll', events, description: 'belfry listen' } }),
    check: (id) => callOnce({ method: 'GET', path: `/${id}/poll?limit=1` }),
    deleteEndpoint: (id) => callOnce({ method: 'DELETE', path: `/${id}` }),
    poll: (id) =>
      callUntilAnswered({
        method: 'GET',
        path: `/${id}/poll?wait=${WAIT_SECONDS}`,
        timeoutMs: WAIT_SECONDS * 1000 + TIMEOUT_MS,
      }),
    acknowledge: (id, cursor) => callUntilAnswered({ method: 'POST', path: `/${id}/ack`, body: { cursor } }),
  };
}
