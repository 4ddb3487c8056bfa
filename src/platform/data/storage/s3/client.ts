import { createRequire } from 'node:module';
import type { Readable } from 'node:stream';
import type * as Undici from 'undici';
import { createBackoff } from '../../../helpers/concurrency/backoff.ts';
import { createSemaphore, isSemaphoreFull } from '../../../helpers/concurrency/semaphore.ts';
import { assertOutsideTransaction } from '../../postgres/transaction-watch.ts';
import { type FailedResponse, S3Error, toS3Error } from './errors.ts';
import type { S3Settings } from './settings.ts';
import { sha256Hex, signHeaders, signUrl, UNSIGNED_PAYLOAD } from './signature.ts';

const requirePackage = createRequire(import.meta.url);

/** Requests in progress per process. Each holds at most one part of a file in memory. */
const MAX_REQUESTS = 32;
/** Requests that may wait. When S3 is slow, further ones fail at once instead of filling the memory. */
const MAX_WAITING = 512;
const MAX_TRIES = 4;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 3000;
const CONNECT_TIMEOUT_MS = 5000;
/** Requests with a body get one more millisecond for each of these bytes, so that a part also passes a slow line. */
const BODY_BYTES_PER_MS = 128;
/** Maximum of a response that is parsed: a list of 1000 keys or errors is smaller. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;

/** A request to the bucket. */
interface S3Request {
  /** What the request does, for errors: `read a file`. */
  action: string;
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** The key without the prefix; default: the bucket itself. */
  key?: string;
  query?: Readonly<Record<string, string>>;
  /** By name in lower case. */
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
  signal?: AbortSignal | undefined;
}

/** A successful response whose body is parsed. */
interface S3Response extends FailedResponse {
  /** The value of a header; the first one if there are several. */
  header(name: string): string | undefined;
}

/** Sends requests to one bucket. */
export interface S3Client {
  /**
   * Sends a request and reads the whole response. Retries after lost connections and temporary errors, so it must be idempotent.
   *
   * @throws S3Error
   */
  send(request: S3Request): Promise<S3Response>;
  /** Like `send`, but the body of the response is a stream. It fails if it stalls. */
  open(request: S3Request): Promise<S3Response & { body: Readable }>;
  /** Returns a URL with which a client can send the request itself, with the signed headers. */
  sign(request: Pick<S3Request, 'method' | 'key' | 'query' | 'headers'>, expiresInMs: number): Promise<string>;
}

/** The longest time that a signed URL can be valid: seven days. */
const MAX_EXPIRY_SECONDS = 604_800;

const firstOf = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value);

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_TEXT_BYTES) throw new Error(`The response has more than ${MAX_TEXT_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function toConnectionError(action: string, error: unknown, signal: AbortSignal | undefined): S3Error {
  if (error instanceof S3Error) return error;
  if (signal?.aborted) return new S3Error('aborted', `The request to S3 was aborted`, { cause: signal.reason });
  if (isSemaphoreFull(error)) {
    return new S3Error('unavailable', `S3 could not ${action}: too many requests are waiting for it`, { cause: error });
  }
  const { code, message } = error as NodeJS.ErrnoException;
  const text = `S3 could not ${action}: no response (${code ?? message})`;
  return new S3Error('unavailable', text, { isTemporary: true, cause: error });
}

/** Converts an error of a request or of its response into an `S3Error`. */
export const toS3ReadError = (error: unknown, signal: AbortSignal | undefined) =>
  toConnectionError('read a file', error, signal);

/**
 * Creates a client of a bucket. It connects to the address that the operator configured, which may be private: the address guard is for
 * addresses that clients choose. It follows no redirects, so S3 cannot send it elsewhere.
 */
export function createS3Client({ bucketUrl, prefix, region, timeoutMs, getCredentials }: S3Settings): S3Client {
  const semaphore = createSemaphore(MAX_REQUESTS, { maxQueue: MAX_WAITING });
  let library: { undici: typeof Undici; agent: Undici.Agent } | undefined;

  /** Loads undici with the first request, because it takes 5 MB. */
  function loadLibrary() {
    if (library === undefined) {
      const undici = requirePackage('undici') as typeof Undici;
      library = {
        undici,
        agent: new undici.Agent({
          allowH2: false,
          connect: { timeout: CONNECT_TIMEOUT_MS },
          keepAliveMaxTimeout: 30_000,
          bodyTimeout: timeoutMs,
        }),
      };
    }
    return library;
  }

  function urlOf({ key, query = {} }: Pick<S3Request, 'key' | 'query'>): URL {
    const url = new URL(key === undefined ? '' : prefix + key, bucketUrl);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url;
  }

  /** The time limit in ms for a request, until its response begins. No further attempt begins after it. */
  const timeoutOf = (body: S3Request['body']) => timeoutMs + Math.ceil((body?.length ?? 0) / BODY_BYTES_PER_MS);

  /** Sends a request once. Resolves when the headers have arrived. */
  async function sendOnce(request: S3Request) {
    const { method, headers = {}, body, signal } = request;
    const url = urlOf(request);
    assertOutsideTransaction(`A request to ${url.host} is sent`);
    const { undici, agent } = loadLibrary();
    // TLS already protects the body. Without TLS, its hash is signed.
    const hash = body !== undefined && url.protocol === 'https:' ? UNSIGNED_PAYLOAD : sha256Hex(body ?? '');
    const credentials = await getCredentials();
    const response = await undici.request(url, {
      dispatcher: agent,
      method,
      headers: signHeaders({ method, url, headers, credentials, region, now: new Date() }, hash),
      ...(body !== undefined && { body }),
      headersTimeout: timeoutOf(body),
      ...(signal && { signal }),
    });
    const { statusCode: status, headers: received } = response;
    return { status, headers: received, body: response.body, header: (name: string) => firstOf(received[name]) };
  }

  async function sendAndRead(request: S3Request): Promise<S3Response> {
    const { body, ...response } = await sendOnce(request);
    const text = await readText(body);
    // S3 begins the response of a long operation before it knows the result, so a success can contain an error.
    if (response.status >= 300 || /^(?:<\?xml[^>]*>)?\s*<Error>/.test(text)) {
      throw toS3Error(request.action, { ...response, status: response.status < 300 ? 500 : response.status, text });
    }
    return { ...response, text };
  }

  async function openOnce(request: S3Request): Promise<S3Response & { body: Readable }> {
    const response = await sendOnce(request);
    if (response.status >= 300) {
      throw toS3Error(request.action, { ...response, text: await readText(response.body) });
    }
    return { ...response, text: '' };
  }

  async function withRetries<T>({ action, body, signal }: S3Request, run: () => Promise<T>): Promise<T> {
    const backoff = createBackoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    const limitMs = timeoutOf(body);
    const until = performance.now() + limitMs;
    for (let tries = 1; ; tries++) {
      try {
        return await semaphore.run(() => {
          signal?.throwIfAborted();
          // While S3 does not answer, callers that have waited for a slot for too long leave the queue together.
          if (performance.now() > until) throw new Error(`no free slot within ${limitMs} ms`);
          return run();
        });
      } catch (error) {
        const failure = error instanceof S3Error ? error : toConnectionError(action, error, signal);
        if (!failure.isTemporary || tries === MAX_TRIES || performance.now() > until) throw failure;
        await backoff.wait(signal);
      }
    }
  }

  return {
    send: (request) => withRetries(request, () => sendAndRead(request)),
    open: (request) => withRetries(request, () => openOnce(request)),
    async sign({ method, headers = {}, ...target }, expiresInMs) {
      const seconds = Math.min(Math.max(Math.floor(expiresInMs / 1000), 1), MAX_EXPIRY_SECONDS);
      const credentials = await getCredentials();
      return signUrl({ method, url: urlOf(target), headers, credentials, region, now: new Date() }, seconds);
    },
  };
}
