import { createDeadline, type Deadline } from './deadline.ts';
import { ApiError, createInvalidResponseError, isJson, readApiError, toApiError } from './errors.ts';
import { encodeQuery } from './query-string.ts';
import type { ApiRequest, ApiResponse, Requester, TokenSource } from './request.ts';
import { shouldRetry, waitBeforeRetry } from './retry.ts';

/** A setting that may change while the client is used: its value, or a function that returns it. */
export type Changing<T> = T | (() => T);

/** The options of the client that concern requests. */
export interface RequestOptions {
  /** ms until a call rejects with the code `TIMEOUT`, all attempts together; Infinity: never. Default 30,000. */
  timeoutMs?: number | undefined;
  /** How often a request that may safely be repeated is sent again. Default 2. */
  retries?: number | undefined;
  /** Headers of every request. */
  headers?: Changing<Readonly<Record<string, string>> | undefined>;
  /** The organisation (id or slug) that requests are about: the header `X-Organisation`. Default: that of the session. */
  organisation?: Changing<string | undefined>;
  /** The language of messages and e-mails: the header `Accept-Language`. Default: that of the browser. */
  locale?: Changing<string | undefined>;
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: typeof fetch | undefined;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_RETRIES = 2;
/** How the server refuses a token that is no longer valid. Other 401 responses are about a password, a code or a missing token. */
const TOKEN_REFUSED = 'Session is invalid or has expired';

const currentValue = <T>(setting: Changing<T>): T =>
  typeof setting === 'function' ? (setting as () => T)() : (setting as T);

/**
 * 128 random bits. `randomUUID` does not exist on pages without https, and React Native has no `crypto` at all. A key is not secret: it belongs
 * to a user.
 */
function createKey(): string {
  const bytes = globalThis.crypto?.getRandomValues(new Uint8Array(16)) ?? Array.from({ length: 16 }, randomByte);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const randomByte = () => Math.floor(Math.random() * 256);

/** @throws TypeError for a path that could lead out of `/api`, as URLs are parsed: by dot segments, also encoded, and by backslashes */
function assertPath(path: string): void {
  if (!/^\/[^\\#\s]*$/.test(path) || /\/(\.|%2e){1,2}(?=[/?]|$)/i.test(path))
    throw new TypeError(`"${path}" must begin with a slash`);
}

/** A request that is ready to be sent, as often as necessary. */
interface Prepared {
  /** The method and the address, for messages. */
  name: string;
  target: string;
  init: RequestInit;
  headers: Headers;
  /** The token of the session; undefined if the request has none, or one of its own. */
  sessionToken: string | undefined;
}

/** Reads a response. `name` is the request, for messages. */
type Reader<T> = (response: Response, name: string) => T | Promise<T>;

/** @throws ApiError for the response of a server other than the app */
async function readResponse(response: Response, name: string): Promise<ApiResponse> {
  const { status, headers } = response;
  const empty = { status, headers, data: undefined, meta: undefined };
  if (status === 204 || status === 205 || status === 304) return empty;
  // A response without a body, such as `res.status(201).end()`.
  if (!headers.has('content-type')) return empty;
  if (!isJson(response)) throw createInvalidResponseError(response, name);
  const body: unknown = await response.json().catch((error: unknown) => {
    throw error instanceof SyntaxError ? createInvalidResponseError(response, name, 'invalid JSON') : error;
  });
  if (typeof body !== 'object' || body === null || !('data' in body)) return { ...empty, data: body };
  return { ...empty, data: body.data, meta: 'meta' in body ? body.meta : undefined };
}

/** @throws ApiError for a redirect. Following it could send the token, or repeat the request, elsewhere. */
function assertNoRedirect(response: Response, name: string): void {
  const { type, status, headers } = response;
  if (type !== 'opaqueredirect' && !(status >= 300 && status < 400 && status !== 304)) return;
  const target = headers.get('location');
  throw createInvalidResponseError(response, name, `a redirect${target === null ? '' : ` to ${target}`}`);
}

/**
 * Creates the requester of a client.
 *
 * @param url the address of the app, without a slash at the end
 */
export function createRequester(url: string, tokens: TokenSource, options: RequestOptions): Requester {
  const { timeoutMs: defaultTimeoutMs = DEFAULT_TIMEOUT_MS, retries = DEFAULT_RETRIES } = options;

  function createHeaders(request: ApiRequest): Headers {
    const headers = new Headers(currentValue(options.headers));
    for (const [name, value] of Object.entries(request.headers ?? {})) headers.set(name, value);
    const addDefault = (name: string, value: string | undefined) => {
      if (value !== undefined && !headers.has(name)) headers.set(name, value);
    };
    addDefault('Accept', 'application/json');
    if (request.json !== undefined) addDefault('Content-Type', 'application/json');
    addDefault('X-Organisation', currentValue(options.organisation));
    addDefault('Accept-Language', currentValue(options.locale));
    if (request.retry === 'safe' && request.method === 'POST') addDefault('Idempotency-Key', createKey());
    return headers;
  }

  async function prepare(request: ApiRequest): Promise<Prepared> {
    const { method, path, query = {}, json, body, token } = request;
    assertPath(path);
    const address = `${url}/api${path}`;
    const headers = createHeaders(request);
    const content = json === undefined ? body : JSON.stringify(json);
    if (method === 'GET' && content !== undefined) throw new TypeError('A GET request cannot have a body; use "query"');
    const queryString = encodeQuery(query);
    const init: RequestInit = { method, headers, redirect: 'manual', ...(content !== undefined && { body: content }) };
    const hasOwnToken = token !== undefined || headers.has('Authorization');
    // Read once, so that all attempts run as one user.
    const sessionToken = hasOwnToken ? undefined : await tokens.getToken();
    const bearer = token ?? sessionToken;
    if (bearer !== undefined) headers.set('Authorization', `Bearer ${bearer}`);
    const target = address + (path.includes('?') ? queryString.replace('?', '&') : queryString);
    return { name: `${method} ${address}`, target, init, headers, sessionToken };
  }

  async function attempt<T>(
    { name, target, init }: Prepared,
    send: typeof fetch,
    { signal, race }: Deadline,
    read: Reader<T>,
  ): Promise<T> {
    try {
      const response = await race(send(target, { ...init, signal }));
      assertNoRedirect(response, name);
      if (response.ok || response.status === 304) return await race(read(response, name));
      throw await race(readApiError(response, name));
    } catch (error) {
      if (signal.aborted) throw error;
      throw toApiError(error, 'NETWORK_ERROR', `${name} got no complete response: `);
    }
  }

  /** Whether the request is to be sent again because the user has confirmed who they are. */
  async function confirmRecentSignIn(prepared: Prepared, deadline: Deadline): Promise<boolean> {
    const { sessionToken } = prepared;
    if (sessionToken === undefined || tokens.confirmRecentSignIn === undefined) return false;
    if (!(await deadline.pause(async () => tokens.confirmRecentSignIn!(sessionToken)))) return false;
    // Confirming may have started a new session.
    prepared.sessionToken = await deadline.race(tokens.getToken());
    if (prepared.sessionToken === undefined) return false;
    prepared.headers.set('Authorization', `Bearer ${prepared.sessionToken}`);
    return true;
  }

  async function run<T>(request: ApiRequest, deadline: Deadline, read: Reader<T>): Promise<T> {
    const { method, retry = method === 'GET' ? 'safe' : 'never' } = request;
    const prepared = await deadline.race(prepare(request));
    // Called without an object: the fetch of a browser refuses any other `this` than its window.
    const send: typeof fetch = (target, init) => (request.fetch ?? options.fetch ?? fetch)(target, init);
    let hasConfirmed = false;
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await attempt(prepared, send, deadline, read);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (prepared.sessionToken !== undefined && error.status === 401 && error.message === TOKEN_REFUSED)
          tokens.onTokenRefused(prepared.sessionToken);
        if (error.code === 'RECENT_SIGN_IN_REQUIRED' && !hasConfirmed) {
          hasConfirmed = true;
          if (await confirmRecentSignIn(prepared, deadline)) continue;
        }
        if (retry !== 'safe' || attempts > retries || !shouldRetry(error, attempts)) throw error;
        await waitBeforeRetry(error, attempts, deadline);
      }
    }
  }

  async function call<T>(request: ApiRequest, read: Reader<T>, isStream: boolean): Promise<T> {
    const { signal, timeoutMs = defaultTimeoutMs, method, path } = request;
    const deadline = createDeadline(signal, timeoutMs, `${method} ${url}/api${path}`);
    let keepsSignal = false;
    try {
      const result = await run(request, deadline, read);
      keepsSignal = isStream;
      return result;
    } catch (error) {
      // Some implementations of fetch reject with an error of their own.
      throw deadline.signal.aborted ? deadline.reason : error;
    } finally {
      deadline.end(keepsSignal);
    }
  }

  return {
    url,
    send: <Data, Meta>(request: ApiRequest) => call(request, readResponse, false) as Promise<ApiResponse<Data, Meta>>,
    open: (request) => call(request, (response) => response, true),
  };
}
