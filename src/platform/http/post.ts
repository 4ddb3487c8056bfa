import type { Dispatcher } from 'undici';
import { assertOutsideTransaction } from '../data/postgres/transaction-watch.ts';

/** The maximum number of response bytes that are read; the rest of a response is not waited for. */
export const MAX_RESPONSE_BYTES = 1024;

const EMPTY = Buffer.alloc(0);

/** The outcome of a POST: a response, an error, or both if the response broke off in its body. */
export interface PostResult {
  status?: number;
  retryAfter?: string;
  location?: string;
  /** The header `webhook-delivery`. Several are joined with commas. */
  webhookDelivery?: string;
  responseBody: Buffer;
  /** The deadline passed. */
  isTimedOut?: boolean;
  error?: unknown;
}

interface PostRequest {
  url: URL;
  headers: Record<string, string>;
  body: string | Buffer;
  /** The time limit for everything together: DNS, connection, TLS, headers, body. */
  timeoutMs: number;
  /** Whether to close the connection after the response. */
  closeConnection?: boolean;
}

/**
 * Sends a POST and reads the start of its response. Follows no redirect, never rejects, and resolves within `timeoutMs` whatever the
 * receiver does. It uses the dispatcher directly, because undici's own time-outs restart with every byte, and an AbortSignal for
 * each request costs a third of the throughput.
 */
export function sendPost(
  dispatcher: Dispatcher,
  { url, headers, body, timeoutMs, closeConnection }: PostRequest,
): Promise<PostResult> {
  assertOutsideTransaction(`A request to ${url.host} is sent`);
  return new Promise((resolve) => {
    const result: PostResult = { responseBody: EMPTY };
    const chunks: Buffer[] = [];
    let size = 0;
    let controller: Dispatcher.DispatchController | undefined;
    let done = false;

    const resolveOnce = (outcome?: Partial<PostResult>) => {
      if (done) return;
      done = true;
      clearTimeout(timer);
      if (chunks.length > 0) result.responseBody = Buffer.concat(chunks).subarray(0, MAX_RESPONSE_BYTES);
      resolve(outcome === undefined ? result : { ...result, ...outcome });
    };
    const abortRequest = () => controller?.abort(new Error('enough'));
    const timer = setTimeout(() => {
      resolveOnce({ isTimedOut: true });
      abortRequest();
    }, timeoutMs);

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started;
        // The deadline passed while the request waited for a connection.
        if (done) abortRequest();
      },
      onResponseStart(_, status, responseHeaders) {
        if (status < 200) return;
        result.status = status;
        const { 'retry-after': retryAfterHeader, location, 'webhook-delivery': webhookDelivery } = responseHeaders;
        if (typeof retryAfterHeader === 'string') result.retryAfter = retryAfterHeader;
        if (typeof location === 'string') result.location = location;
        if (webhookDelivery !== undefined) result.webhookDelivery = String(webhookDelivery);
      },
      onResponseData(_, chunk) {
        if (done) return;
        chunks.push(chunk);
        size += chunk.length;
        if (size <= MAX_RESPONSE_BYTES) return;
        resolveOnce();
        abortRequest();
      },
      onResponseEnd: () => resolveOnce(),
      onResponseError: (_, error) => resolveOnce({ error }),
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
          ...(closeConnection ? { reset: true } : {}),
        },
        handler,
      );
    } catch (error) {
      resolveOnce({ error });
    }
  });
}
