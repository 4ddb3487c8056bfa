import { ApiError } from '../request/errors.ts';
import type { Requester } from '../request/request.ts';
import { createEventParser, type EventSink } from './event-parser.ts';

/** What a connection asks the server for. */
export interface ConnectionRequest {
  /** The texts of the subscriptions. */
  subscriptions: readonly string[];
  /** The id of the last event that was received, to get those that were missed. */
  lastEventId: string | undefined;
}

/** Receives what a connection delivers. */
export interface ConnectionSink extends EventSink {
  /**
   * The connection has ended. Not called after `close`.
   *
   * @param error why the server refused it, or why it was lost; undefined if the server has ended it
   */
  onClosed(error: unknown): void;
}

/** One response with server-sent events. */
export interface Connection {
  /** ms since anything arrived. */
  silentMs(): number;
  /** Sets the ms without any data after which the connection counts as lost. */
  setSilenceLimit(ms: number): void;
  close(): void;
}

/** The code of the error in a runtime whose `fetch` cannot read a stream. */
const STREAMS_UNSUPPORTED = 'STREAMS_UNSUPPORTED';

/** Whether another attempt can succeed without a change of the request or the session. */
export function isTemporary(error: ApiError): boolean {
  const { status, code } = error;
  if (code === STREAMS_UNSUPPORTED) return false;
  return status < 400 || status === 408 || status === 429 || status >= 500;
}

const OPEN_TIMEOUT_MS = 20_000;
/** Until `ready` says how often the server sends heartbeats: two periods of 15 s, and time for their way. */
const FIRST_SILENCE_LIMIT_MS = 31_000;

function createConnectionPath({ subscriptions, lastEventId }: ConnectionRequest): string {
  const pairs = subscriptions.map((text) => `subscribe=${encodeURIComponent(text)}`);
  if (lastEventId !== undefined) pairs.push(`lastEventId=${encodeURIComponent(lastEventId)}`);
  return `/realtime?${pairs.join('&')}`;
}

/** Opens a connection. The sink is never called before this function has returned. */
export function openConnection(requester: Requester, request: ConnectionRequest, sink: ConnectionSink): Connection {
  const abort = new AbortController();
  let arrivedAt = Date.now();
  let silenceLimitMs = FIRST_SILENCE_LIMIT_MS;
  let timer: ReturnType<typeof setTimeout> | undefined;

  /** Ends the connection when nothing has arrived for too long. The clock also advances while a computer sleeps. */
  function watchSilence(): void {
    const leftMs = arrivedAt + silenceLimitMs - Date.now();
    if (leftMs > 0) timer = setTimeout(watchSilence, leftMs);
    else abort.abort(new Error('The stream was silent'));
  }

  async function read(): Promise<void> {
    const response = await requester.open({
      method: 'GET',
      path: createConnectionPath(request),
      headers: { Accept: 'text/event-stream' },
      signal: abort.signal,
      timeoutMs: OPEN_TIMEOUT_MS,
      // The stream has its own back-off, which knows what else is open.
      retry: 'never',
    });
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      response.body?.cancel().catch(() => undefined);
      const message = 'The response is no event stream. Check the proxies in between';
      throw new ApiError({ status: response.status, code: 'INVALID_RESPONSE', message });
    }
    const reader = response.body?.getReader();
    if (reader === undefined) {
      const message = 'The fetch of this runtime cannot read streams';
      throw new ApiError({ status: 0, code: STREAMS_UNSUPPORTED, message });
    }
    const parse = createEventParser(sink);
    arrivedAt = Date.now();
    watchSilence();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || abort.signal.aborted) return;
      arrivedAt = Date.now();
      parse(value);
    }
  }

  let isClosed = false;
  const finish = (error: unknown) => {
    clearTimeout(timer);
    if (isClosed) return;
    isClosed = true;
    sink.onClosed(error);
  };
  read().then(() => finish(undefined), finish);

  return {
    silentMs: () => Date.now() - arrivedAt,
    setSilenceLimit(ms) {
      silenceLimitMs = ms;
      clearTimeout(timer);
      watchSilence();
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
      abort.abort();
    },
  };
}
