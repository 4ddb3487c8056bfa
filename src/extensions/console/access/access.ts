import type { Request, RequestHandler } from 'express';
import {
  ApiError,
  allowsAction,
  compilePolicy,
  type ExtensionHost,
  getCredentialWatch,
  isAccountActive,
  isFromThisMachine,
  type Policy,
  type ResourceGateway,
  type Route,
  type RouteContext,
  setIdentity,
  type Viewer,
} from '../../../extension/index.ts';

/**
 * Whether a host name belongs to this console. Anyone who controls another name can point it at this machine (DNS rebinding), and
 * the browser then treats their page as same-origin with the console. A loopback address cannot be abused in this way.
 */
function isConsoleHost(host: string, own: string | undefined): boolean {
  if (host === own) return true;
  if (!URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname)
  );
}

/** Keeps responses with the app's data out of caches. */
const forbidCaching: RequestHandler = (_req, res, next) => {
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('Referrer-Policy', 'no-referrer');
  next();
};

/** Whether the request is a page navigation, from the address bar or from a link on any site. */
function isNavigation({ method, headers }: Request): boolean {
  return method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}

/**
 * How the names of headers begin and end that only proxies, load balancers and tunnels add. They name the client, or hide that there is
 * another one. By prefix and suffix, because each product has names of its own, such as `CF-Connecting-IP` and `X-Envoy-External-Address`.
 */
const PROXY_PREFIXES = [
  ...[
    'forwarded',
    'via',
    'x-forward',
    'x-original-',
    'x-real-',
    'x-rewrite-',
    'x-remote-',
    'x-proxy',
    'x-host',
    'x-cluster-',
  ],
  ...[
    'x-envoy-',
    'x-amz',
    'x-azure-',
    'x-arr-',
    'x-appengine-',
    'x-cloud-',
    'x-vercel-',
    'x-nf-',
    'x-ngrok-',
    'x-varnish',
  ],
  ...[
    'x-akamai-',
    'x-traefik-',
    'akamai-',
    'cf-',
    'cdn-',
    'do-connecting-',
    'fastly-',
    'fly-',
    'surrogate-',
    'tailscale-',
  ],
];
const PROXY_SUFFIXES = ['-ip', '-forwarded-for', '-forwarded', '-remote-addr', '-client-address'];

/** Whether only a proxy adds a header. `X-Forwarded-For` may name this machine, which is checked apart. */
function isProxyHeader(name: string): boolean {
  if (name === 'x-forwarded-for') return false;
  return (
    PROXY_PREFIXES.some((prefix) => name.startsWith(prefix)) || PROXY_SUFFIXES.some((suffix) => name.endsWith(suffix))
  );
}

/**
 * Refuses requests from other machines, because the console needs no sign-in. It checks the connection itself, so neither a header nor
 * `TRUST_PROXY` opens the console. A proxy on this machine may pass on requests of any client, so its requests are refused too, unless its only
 * header is an `X-Forwarded-For` that names this machine. A proxy that adds no header cannot be told from a browser.
 */
export const requireThisMachine: RequestHandler = (req, _res, next) => {
  if (!isFromThisMachine(req)) {
    const { localPort } = req.socket;
    throw new ApiError(
      'FORBIDDEN',
      'The console accepts requests only from the machine (or container) that Belfry runs on; this request came from another one. ' +
        `Open it there, or forward the port: ssh -L ${localPort}:localhost:${localPort} <that machine>`,
    );
  }
  const header = Object.keys(req.headers).find(isProxyHeader);
  if (header !== undefined)
    throw new ApiError(
      'FORBIDDEN',
      `The console accepts no requests through a proxy; this one has the header ${header}. Open the port of Belfry itself`,
    );
  next();
};

/**
 * Refuses requests from pages of other origins, including reads and scripts. The console has no sign-in, so this is its only protection
 * against other pages.
 *
 * @param appUrl a URL whose host also belongs to the app, besides localhost and loopback addresses
 */
export function requireSameOrigin(appUrl: string | undefined): RequestHandler {
  const own = appUrl === undefined ? undefined : new URL(appUrl).host;
  return (req, _res, next) => {
    const { host = '', origin, 'sec-fetch-site': site } = req.headers;
    if (!isConsoleHost(host, own)) {
      throw new ApiError(
        'FORBIDDEN',
        'The console is available only at localhost, at a loopback address, or at APP_URL',
      );
    }
    const foreign = site !== undefined && site !== 'same-origin' && site !== 'none' && !isNavigation(req);
    const elsewhere = origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host);
    if (foreign || elsewhere) throw new ApiError('FORBIDDEN', 'The console accepts requests only from its own page');
    next();
  };
}

/**
 * Checks that a browser sent the request from the console's own page. Other programs on this machine may use the rest of the console.
 *
 * @throws ApiError FORBIDDEN
 */
export async function assertSentByOwnPage({ req }: Pick<RouteContext, 'req'>): Promise<void> {
  const { host, origin = '', 'sec-fetch-site': site } = req.headers;
  if (site === 'same-origin' || (URL.canParse(origin) && new URL(origin).host === host)) return;
  throw new ApiError('FORBIDDEN', "Only the console's own page can start a session");
}

/** What gives access to the routes of the console's API. */
export interface ConsoleAccess {
  /** The parts of every route, which the HTTP kernel enforces. */
  route: Pick<Route, 'policy' | 'recentSignIn' | 'load'> & { middleware: readonly RequestHandler[] };
  /** The middleware of the page's files, which contain no data. */
  fileGuards: readonly RequestHandler[];
  /** Whether the caller of a request that is still open would have access now. */
  isStillAllowed(ctx: Pick<RouteContext, 'user' | 'auth'>): Promise<boolean>;
}

/**
 * Access in development: without a sign-in.
 *
 * @param guards the middleware that refuses requests from other machines and from other pages
 */
export function createDevelopmentAccess(guards: readonly RequestHandler[]): ConsoleAccess {
  return {
    route: { policy: 'public', middleware: [...guards, forbidCaching] },
    fileGuards: guards,
    isStillAllowed: async () => true,
  };
}

/**
 * Refuses other credentials than sessions, and marks the request as one of the console, so that the audit trail records its changes.
 *
 * @throws ApiError FORBIDDEN
 */
async function requireSession({ auth, user, req }: Pick<RouteContext, 'auth' | 'user' | 'req'>): Promise<void> {
  if (auth?.via !== 'session') throw new ApiError('FORBIDDEN', 'The console accepts only sessions');
  setIdentity(req, { via: 'console', id: auth.id, userId: user!.id });
}

/** Access in production: a session that meets the policy, and whose user has signed in recently. */
export function createProductionAccess(
  host: Pick<ExtensionHost, 'accounts' | 'service'>,
  users: Pick<ResourceGateway, 'load'>,
  policy: Policy,
): ConsoleAccess {
  const compiled = compilePolicy(policy, () => undefined);

  async function hasRecentSignIn(ctx: Pick<RouteContext, 'auth'>): Promise<boolean> {
    try {
      await host.accounts!.assertRecentSignIn(ctx);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'RECENT_SIGN_IN_REQUIRED') return false;
      throw error;
    }
  }

  function allowsUser(user: Viewer): Promise<boolean> {
    const args = { user, action: 'console', doc: undefined, req: undefined, service: host.service };
    return allowsAction(compiled, args, false, () => undefined);
  }

  return {
    route: { policy, recentSignIn: true, middleware: [forbidCaching], load: requireSession },
    fileGuards: [],
    async isStillAllowed({ user: { id } = { id: '' }, auth }) {
      const [[user], ended, isRecent] = await Promise.all([
        users.load([id]),
        getCredentialWatch(auth)?.ended([auth!.id]) ?? [],
        hasRecentSignIn({ auth }),
      ]);
      if (user === undefined || !isAccountActive(user) || ended.length > 0 || !isRecent) return false;
      return allowsUser(user);
    },
  };
}
