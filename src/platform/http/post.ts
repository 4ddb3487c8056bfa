import type { Dispatcher } from 'undici';

/** Bytes of an answer that are read; the rest is not waited for. */
export const ANSWER_BYTES = 1024;

const EMPTY = Buffer.alloc(0);

/** What came of a request: an answer, or an error. An answer that broke off in its body has both. */
export interface Posted {
  status?: number;
  retryAfter?: string;
  location?: string;
  answer: Buffer;
  /** The deadline passed. */
  late?: boolean;
  error?: unknown;
}

interface Request {
  url: URL;
  headers: Record<string, string>;
  body: string | Buffer;
  /** For everything together: DNS, connection, TLS, headers, body. */
  timeoutMs: number;
  /** Asks for the connection to be closed after the answer. */
  lastOfConnection?: boolean;
}

/**
 * Sends a POST and reads the start of its answer. Follows no redirect, never rejects, and resolves within `timeoutMs` whatever the
 * receiver does. It drives the dispatcher by hand, since undici's own time-outs start anew with every byte, and an AbortSignal for
 * each request costs a third of the throughput.
 */
export function post(
  dispatcher: Dispatcher,
  { url, headers, body, timeoutMs, lastOfConnection }: Request,
): Promise<Posted> {
  return new Promise((resolve) => {
    const posted: Posted = { answer: EMPTY };
    const chunks: Buffer[] = [];
    let size = 0;
    let controller: Dispatcher.DispatchController | undefined;
    let done = false;

    const finish = (rest?: Partial<Posted>) => {
      if (done) return;
      done = true;
      clearTimeout(timer);
      if (chunks.length > 0) posted.answer = Buffer.concat(chunks).subarray(0, ANSWER_BYTES);
      resolve(rest === undefined ? posted : { ...posted, ...rest });
    };
    const stop = () => controller?.abort(new Error('enough'));
    const timer = setTimeout(() => {
      finish({ late: true });
      stop();
    }, timeoutMs);

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started;
        // The deadline passed while it waited for a connection.
        if (done) stop();
      },
      onResponseStart(_, status, answerHeaders) {
        if (status < 200) return;
        posted.status = status;
        const { 'retry-after': wish, location } = answerHeaders;
        if (typeof wish === 'string') posted.retryAfter = wish;
        if (typeof location === 'string') posted.location = location;
      },
      onResponseData(_, chunk) {
        if (done) return;
        chunks.push(chunk);
        size += chunk.length;
        if (size <= ANSWER_BYTES) return;
        finish();
        stop();
      },
      onResponseEnd: () => finish(),
      onResponseError: (_, error) => finish({ error }),
    };
    try {
      dispatcher.dispatch(
        {
          origin: url.origin,
          path: url.pathname + url.search,
          method: 'POST',
          headers,
          body,
          headersTimeout: 0,
          bodyTimeout: 0,
          ...(lastOfConnection ? { reset: true } : {}),
        },
        handler,
      );
    } catch (error) {
      finish({ error });
    }
  });
}
