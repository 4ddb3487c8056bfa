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

/** The parts of a URL that a request needs. Reading them from a `URL` takes longer than sending its headers. */
interface UrlParts {
  host: string;
  origin: string;
  path: string;
}

const knownUrls = new WeakMap<URL, UrlParts>();

/** Returns the parts of a URL that does not change any more. */
function partsOf(url: URL): UrlParts {
  let parts = knownUrls.get(url);
  if (parts === undefined) {
    parts = { host: url.host, origin: url.origin, path: url.pathname + url.search };
    knownUrls.set(url, parts);
  }
  return parts;
}

/** A POST whose response is awaited. */
class PendingPost implements Dispatcher.DispatchHandler {
  readonly #resolve: (result: PostResult) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #result: PostResult = { responseBody: EMPTY };
  #chunks: Buffer[] | undefined;
  #size = 0;
  #controller: Dispatcher.DispatchController | undefined;
  #isDone = false;

  constructor(timeoutMs: number, resolve: (result: PostResult) => void) {
    this.#resolve = resolve;
    this.#timer = setTimeout(() => {
      this.#result.isTimedOut = true;
      this.#end();
      this.#abort();
    }, timeoutMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The deadline passed while the request waited for a connection.
    if (this.#isDone) this.#abort();
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    { 'retry-after': retryAfter, location }: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200 || this.#isDone) return;
    this.#result.status = status;
    if (typeof retryAfter === 'string') this.#result.retryAfter = retryAfter;
    if (typeof location === 'string') this.#result.location = location;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isDone) return;
    this.#chunks ??= [];
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size <= MAX_RESPONSE_BYTES) return;
    this.#end();
    this.#abort();
  }

  onResponseEnd(): void {
    this.#end();
  }

  onResponseError(_: unknown, error: unknown): void {
    this.fail(error);
  }

  fail(error: unknown): void {
    if (this.#isDone) return;
    this.#result.error = error;
    this.#end();
  }

  #end(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    clearTimeout(this.#timer);
    if (this.#chunks !== undefined)
      this.#result.responseBody = Buffer.concat(this.#chunks).subarray(0, MAX_RESPONSE_BYTES);
    this.#resolve(this.#result);
  }

  #abort(): void {
    this.#controller?.abort(new Error('enough'));
  }
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
  const { host, origin, path } = partsOf(url);
  assertOutsideTransaction(`A request to ${host} is sent`);
  return new Promise((resolve) => {
    const post = new PendingPost(timeoutMs, resolve);
    try {
      dispatcher.dispatch(
        {
          ...{ origin, path, method: 'POST', headers, body, headersTimeout: 0, bodyTimeout: 0 },
          ...(closeConnection && { reset: true }),
        },
        post,
      );
    } catch (error) {
      post.fail(error);
    }
  });
}
