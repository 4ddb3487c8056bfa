import {
  type CookieContent,
  computeSessionId,
  createSessionCookie,
  SESSION_TOKEN,
  type SessionCookie,
} from './cookie.ts';
import type { PageSession } from './cookie-storage.ts';
import { isSameOrigin, toApiHeaders, toApiPath, toPageHeaders } from './proxied-request.ts';
import type { Session } from './session.ts';
import type { SessionStorage, StoredSession } from './storage.ts';

/** The settings of `cookieSession`. */
export interface CookieSessionOptions {
  /** The address of the API: `https://api.example.com`. Requests go there and nowhere else. */
  url: string;
  /** The origin of the pages, as browsers see it: `https://app.example.com`. Requests of pages of any other origin are refused. */
  origin: string;
  /** The name of the cookie; with https, it gets the prefix `__Host-`. Default `belfry`. */
  name?: string | undefined;
  /**
   * Returns the address of the browser. It is sent as `X-Forwarded-For`, so that rate limits apply to each browser; set `TRUST_PROXY` at the
   * API. Without it, all browsers share the limits of this server.
   */
  clientAddress?: ((request: Request) => string | undefined) | undefined;
  /** Further request headers that are passed on, such as those of your own routes. */
  headers?: readonly string[] | undefined;
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** Called with the reason when the API cannot be reached; the page does not learn it. Default: `console.error`. */
  onError?: ((error: unknown) => void) | undefined;
}

/** A request, or its headers: what frameworks give to pages that they render. */
export interface WithHeaders {
  headers: { get(name: string): string | null };
}

/** The session of a browser in a cookie, as the server of the pages uses it. */
export interface CookieSession {
  /**
   * Responds to a request of a page below `/api`: passes it on to the API with the token of the cookie, and keeps the token of a sign-in in the
   * cookie. Never rejects.
   */
  handle(request: Request): Promise<Response>;
  /** Returns the token of the session in the cookie of a request; undefined if there is none. */
  token(request: WithHeaders): string | undefined;
  /** Whether a request that can change something comes from a page of the origin: check it before a form signs a user in or out. */
  isOwnPage(request: WithHeaders): boolean;
  /**
   * Returns the storage of a client for one request. Never share such a client between requests.
   *
   * @param responseHeaders of the response; needed if the client signs in or out
   */
  storage(request: WithHeaders, responseHeaders?: Headers): SessionStorage;
  /** Returns a session without its token, for `initial` of `cookieStorage`. */
  toPageSession<User>(session: Session<User>): Promise<PageSession<User>>;
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const SAFE_METHODS = ['GET', 'HEAD'];
/** How a page asks for the session of the cookie, whose id it does not know yet. */
const CURRENT = 'sid_current';
const PROVIDER_START = /^\/api\/auth\/oidc\/[a-z0-9-]{1,32}\/start$/;
/** The routes whose responses start sessions. Nothing else that a response contains is a session, whatever its members are called. */
const SIGN_IN =
  /^\/api\/auth\/(login|register|2fa\/verify|passkeys\/(sign-in|second-factor)|oidc\/(exchange|[^/]+\/token)|email-sign-in\/verify|email\/verify|invitations\/accept)\/?$/i;
const JSON_TYPE = /^application\/json\s*(;|$)/i;
const NEVER_STORED = { 'cache-control': 'no-store', vary: 'Cookie, Authorization' };

function errorResponse(status: number, code: string, message: string): Response {
  const requestId = crypto.randomUUID();
  const body = { error: { code, message, requestId } };
  return Response.json(body, { status, headers: { ...NEVER_STORED, 'x-request-id': requestId } });
}

const refusedSession = () => errorResponse(401, 'UNAUTHORIZED', 'Session is invalid or has expired');

/** The body of a response that starts a session. */
interface SignInBody {
  data: { user: unknown; token: string; expiresAt: string };
}

/** Parses the text of a response to a sign-in if it starts a session. */
function parseSignIn(text: string): SignInBody | undefined {
  let body: Partial<SignInBody> | null;
  try {
    body = JSON.parse(text);
  } catch {
    // The API has done what the request asks for, so the response is passed on as it is.
    return undefined;
  }
  const data = body?.data;
  const isSession = SESSION_TOKEN.test(String(data?.token)) && !Number.isNaN(Date.parse(String(data?.expiresAt)));
  return isSession ? { data: data! } : undefined;
}

/** Returns the address of the API without a slash at the end. @throws TypeError */
function parseApiUrl(url: string): string {
  const { protocol, origin, pathname, search, hash, username } = new URL(url);
  if (!/^https?:$/.test(protocol) || search !== '' || hash !== '' || username !== '')
    throw new TypeError(`url must be the address of the API, such as "https://api.example.com", not "${url}"`);
  return origin + pathname.replace(/\/+$/, '');
}

/** Sends the request of a page to the API. */
function forward(
  { url, headers: furtherHeaders = [], clientAddress, fetch: send = fetch }: CookieSessionOptions,
  request: Request,
  path: string,
  token: string | undefined,
): Promise<Response> {
  const headers = toApiHeaders(request.headers, furtherHeaders);
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
  const address = clientAddress?.(request);
  // Anything but an address could add further entries to the header.
  if (address !== undefined && /^[0-9a-f.:]{2,45}$/i.test(address)) headers.set('x-forwarded-for', address);
  const { method, signal } = request;
  const init: RequestInit & { duplex: 'half' } = {
    ...{ method, headers, signal, redirect: 'manual', duplex: 'half' },
    ...(SAFE_METHODS.includes(method) || request.body === null ? {} : { body: request.body }),
  };
  return send(url + path, init);
}

function toPageResponse(response: Response): Response {
  const { body, status, statusText } = response;
  return new Response(body, { status, statusText, headers: toPageHeaders(response.headers) });
}

/** Passes a response on. The token of a new session goes into the cookie instead. */
async function takeToken(response: Response, cookie: SessionCookie): Promise<Response> {
  const { status } = response;
  const headers = toPageHeaders(response.headers);
  const text = await response.text();
  const signIn = parseSignIn(text);
  if (signIn === undefined) return new Response(text, { status, headers });
  const { token, ...session } = signIn.data;
  headers.set('cache-control', 'no-store');
  headers.append('set-cookie', cookie.serialize({ token, expiresAtMs: Date.parse(session.expiresAt) }));
  const body = JSON.stringify({ data: { ...session, sessionId: await computeSessionId(token) } });
  return new Response(body, { status, headers });
}

/** Creates the storage of a client for one request. @param responseHeaders take the cookie */
function createRequestStorage(
  cookie: SessionCookie,
  { headers }: WithHeaders,
  responseHeaders: Headers | undefined,
): SessionStorage {
  const content = cookie.read(headers.get('cookie'));
  let stored: StoredSession | undefined = content && {
    token: content.token,
    expiresAt: new Date(content.expiresAtMs).toISOString(),
  };
  return {
    read: () => stored,
    write(session) {
      const { token, expiresAt } = session;
      const isNew = token !== stored?.token;
      stored = session;
      // The cookie does not contain the user.
      if (!isNew) return;
      if (responseHeaders === undefined)
        throw new TypeError('To sign in on the server, pass the headers of the response to storage()');
      const expiresAtMs = Date.parse(String(expiresAt));
      responseHeaders.append('set-cookie', cookie.serialize({ token, expiresAtMs }));
    },
    remove() {
      stored = undefined;
      responseHeaders?.append('set-cookie', cookie.serializeRemoval());
    },
  };
}

/** Creates the function that responds to the requests of pages. @param options `url` without a slash at the end */
function createResponder(options: CookieSessionOptions, cookie: SessionCookie) {
  const { url, origin } = options;

  /** Returns the content of the cookie if the page means this session; otherwise another tab has signed in or out since. */
  async function findNamedSession(request: Request, named: string): Promise<CookieContent | undefined> {
    const content = cookie.read(request.headers.get('cookie'));
    return content !== undefined && named === (await computeSessionId(content.token)) ? content : undefined;
  }

  /** Responds with the session of the cookie, without its token. */
  async function readSession(request: Request): Promise<Response> {
    const content = cookie.read(request.headers.get('cookie'));
    const none = () => Response.json({ data: null }, { headers: NEVER_STORED });
    if (content === undefined) return none();
    const response = await forward(options, request, '/api/auth/me', content.token);
    if (response.status === 401) return none();
    if (!response.ok) return toPageResponse(response);
    const { data: user } = (await response.json()) as { data: unknown };
    const data: PageSession = {
      sessionId: await computeSessionId(content.token),
      user,
      expiresAt: new Date(content.expiresAtMs).toISOString(),
    };
    return Response.json({ data }, { headers: NEVER_STORED });
  }

  return async (request: Request): Promise<Response> => {
    const { method } = request;
    const path = toApiPath(request.url);
    if (path === undefined) return errorResponse(404, 'NOT_FOUND', 'Not found');
    if (!METHODS.includes(method))
      return errorResponse(405, 'METHOD_NOT_ALLOWED', 'This path does not support this method');
    if (!isSameOrigin(request, origin, SAFE_METHODS.includes(method)))
      return errorResponse(403, 'FORBIDDEN', `Only pages of ${origin} may send requests here`);
    const [pathname] = path.split('?', 1) as [string];
    // The API itself has to set the cookie that ties the sign-in at a provider to the browser.
    if (method === 'GET' && PROVIDER_START.test(pathname))
      return new Response(null, { status: 303, headers: { ...NEVER_STORED, location: url + path } });
    const authorization = request.headers.get('authorization');
    const named = /^Bearer (sid_(?:[0-9a-f]{32}|current))$/.exec(authorization ?? '')?.[1];
    if (pathname === '/api/auth/session') {
      if (method !== 'GET' || named !== CURRENT) return errorResponse(404, 'NOT_FOUND', 'Not found');
      return readSession(request);
    }
    if (authorization !== null && named === undefined) return refusedSession();
    const content = named === undefined ? undefined : await findNamedSession(request, named);
    if (named !== undefined && content === undefined) return refusedSession();
    const response = await forward(options, request, path, content?.token);
    const isJson = JSON_TYPE.test(response.headers.get('content-type') ?? '');
    // Decoded, because a server on the way may decode the path.
    if (method === 'POST' && response.ok && isJson && SIGN_IN.test(decodeURIComponent(pathname)))
      return takeToken(response, cookie);
    const passed = toPageResponse(response);
    const ends = method === 'POST' && /^\/api\/auth\/logout(-all)?$/.test(pathname);
    if (ends && content !== undefined && (response.ok || response.status === 401))
      passed.headers.append('set-cookie', cookie.serializeRemoval());
    return passed;
  };
}

/**
 * Keeps the token of a session in a cookie that page scripts cannot read, for servers that render pages or serve them: Next.js, Remix, Hono
 * and all others with `Request` and `Response`.
 *
 * @throws TypeError for an invalid `url`, `origin` or `name`
 * @example
 * const cookies = cookieSession({ url: 'https://api.example.com', origin: 'https://app.example.com' });
 * app.all('/api/*', (context) => cookies.handle(context.req.raw)); // Hono
 */
export function cookieSession(input: CookieSessionOptions): CookieSession {
  const { origin, name = 'belfry', onError = console.error } = input;
  const url = parseApiUrl(input.url);
  const pageOrigin = new URL(origin).origin;
  if (pageOrigin !== origin) throw new TypeError(`origin must be an origin, such as "${pageOrigin}", not "${origin}"`);
  const cookie = createSessionCookie(origin, name);
  const respond = createResponder({ ...input, url }, cookie);

  return {
    async handle(request) {
      try {
        return await respond(request);
      } catch (error) {
        // The reason may name internal addresses, so pages do not get it.
        onError(error);
        return errorResponse(503, 'UNAVAILABLE', 'The API cannot be reached');
      }
    },
    isOwnPage: (request) => isSameOrigin(request, origin, false),
    token: ({ headers }) => cookie.read(headers.get('cookie'))?.token,
    storage: (request, responseHeaders) => createRequestStorage(cookie, request, responseHeaders),
    async toPageSession({ token, user, expiresAt }) {
      if (token === undefined) throw new TypeError('The session has no token: it is not one of a server');
      return { sessionId: await computeSessionId(token), user, expiresAt };
    },
  };
}
