import express, {
  type Express,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
  Router,
} from 'express';
import type { Host } from '../../declare/host.ts';
import { allowsOnlyRoles, compilePolicy } from '../../declare/policy.ts';
import type { Route } from '../../declare/route.ts';
import type { Events } from '../../platform/events.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import { hasBody } from '../../platform/http/json-body.ts';
import type { PendingResponses } from '../../platform/http/pending-responses.ts';
import { parseQueryString } from '../../platform/http/query-string.ts';
import { assignRequestId, describeIdentity, getRequestId } from '../../platform/http/request-context.ts';
import { sendError } from '../../platform/http/response.ts';
import { createSignedOutActor, runAsActor } from '../../rules/acting.ts';
import { createCors } from './cors.ts';
import { createDeprecations } from './deprecation/index.ts';
import { createEndpoint, type Endpoint, type EndpointChecks, type EndpointParts } from './endpoint/index.ts';
import { addHomePage } from './home-page.ts';
import { createRequestLimits, type LimitCheck, type RequestLimits } from './limits.ts';
import { createRequestCounter } from './metrics.ts';
import { createHealthRouter, createMetricsRouter, type Health } from './monitoring.ts';
import { toPublicError } from './public-error.ts';
import { isMonitoringUrl, logRequest, redactPath, setRoutePattern } from './request-log.ts';
import { beginSignIn } from './sign-in.ts';
import { createRequestTracer } from './tracing.ts';

/**
 * Converts `TRUST_PROXY` to the forms that Express accepts: `true`, `false`, a number of hops, or a comma-separated list of addresses,
 * subnets and the names loopback, linklocal, uniquelocal (https://expressjs.com/en/guide/behind-proxies.html).
 */
function parseTrustProxy(text: string | undefined): boolean | number | string {
  if (text === undefined || text === 'false') return false;
  if (text === 'true') return true;
  return /^\d+$/.test(text) ? Number(text) : text;
}

/** Wraps the endpoint of a route that only certain roles, such as admins, may call: a 403 emits `security.access_refused`. */
function withAccessRefusedEvent(endpoint: Endpoint, { policy, method }: Route, events: Events): Endpoint {
  if (policy === undefined || !allowsOnlyRoles(compilePolicy(policy, () => undefined))) return endpoint;
  return async (req, res) => {
    try {
      await endpoint(req, res);
    } catch (error) {
      if (error instanceof ApiError && error.status === 403) {
        const caller = { ...describeIdentity(req), ip: addressOf(req), requestId: getRequestId(req) };
        runAsActor(createSignedOutActor(req), () =>
          events.emit('security.access_refused', { ...caller, method, path: redactPath(req) }),
        );
      }
      throw error;
    }
  };
}

/** Dependencies of the route handlers. `prefix`: the part that the paths of the routes leave out. */
interface RoutingParts extends EndpointParts {
  prefix: '/api' | '';
}

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const;

/**
 * Creates the handlers of a route. The rate limits come before all other work: a refused request causes none. Only the deprecation of a
 * route comes earlier, because every response announces it.
 */
function createRouteHandlers(route: Route, parts: RoutingParts, limits: RequestLimits | undefined): RequestHandler[] {
  const middleware = route.middleware ?? [];
  const announceRoute = parts.deprecations?.createRouteAnnouncer(route);
  // Middleware may take long, and the result of an early sign-in could become outdated.
  const startMeanwhile = middleware.length > 0 ? undefined : (req: Request) => beginSignIn(req, parts);
  const checkLimits = limits?.createLimitCheck(route, startMeanwhile);
  const createHandler = (checks: EndpointChecks) =>
    withAccessRefusedEvent(createEndpoint(route, parts, checks), route, parts.host.events);
  const countWeight = limits?.createWeightCounter(route);
  const handlers: RequestHandler[] =
    middleware.length === 0
      ? [createHandler({ checkLimits, countWeight })]
      : [createMiddlewareGate(checkLimits), ...middleware, createHandler({ countWeight })];
  const [first, ...others] = announceRoute === undefined ? handlers : [announceRoute, ...handlers];
  const pattern = parts.prefix + route.path;
  const enterRoute: RequestHandler = (req, res, next) => {
    setRoutePattern(req, pattern);
    return first!(req, res, next);
  };
  return [enterRoute, ...others];
}

/**
 * Creates the handler in front of the middleware of a route. Until the endpoint signs the caller in, service calls of middleware are
 * recorded for this request, without a user.
 */
function createMiddlewareGate(checkLimits: LimitCheck | undefined): RequestHandler {
  return (req, res, next) =>
    runAsActor(createSignedOutActor(req), () => {
      if (checkLimits === undefined) next();
      else checkLimits(req, res).then(() => next(), next);
    });
}

/** Mounts all routes of one path together: OPTIONS lists their methods, and any other method gets a 405. */
function mountPath(
  router: Router,
  routes: readonly Route[],
  parts: RoutingParts,
  limits: RequestLimits | undefined,
): void {
  const methods = new Set(routes.map((route) => route.method as string));
  if (methods.has('GET')) methods.add('HEAD');
  const allow = [...methods, 'OPTIONS'].join(', ');
  for (const route of routes) {
    router[METHODS[route.method]](route.path, ...createRouteHandlers(route, parts, limits));
  }
  if (routes.every(({ passesOtherMethods }) => passesOtherMethods)) return;
  const { path } = routes[0]!;
  const headers = Object.entries(Object.assign({}, ...routes.map(({ optionsHeaders }) => optionsHeaders)));
  const checkLimits = limits?.createLimitCheck();
  router.all(path, async (req: Request, res: Response) => {
    setRoutePattern(req, parts.prefix + path);
    await checkLimits?.(req, res);
    res.setHeader('Allow', allow);
    if (req.method !== 'OPTIONS') throw new ApiError('METHOD_NOT_ALLOWED');
    for (const [name, value] of headers) res.setHeader(name, value as string);
    res.status(204).end();
  });
}

/**
 * Creates a router for each first path segment. Express tries a router's routes one by one: with fifty resources in a single
 * router, requests for the last one would be slow.
 */
function createSegmentRouters(
  routes: readonly Route[],
  parts: RoutingParts,
  limits: RequestLimits | undefined,
): Map<string, Router> {
  const segments = Map.groupBy(routes, (route) => route.path.split('/')[1]!);
  return new Map(
    [...segments].map(([segment, segmentRoutes]) => {
      const router = Router({ caseSensitive: true, strict: true });
      // Paths without parameters go first: `/posts/feed` is not a post with the id "feed". Parameter names do not matter: `/posts/:slug`
      // and `/posts/:id` are the same path and share their methods.
      const byPath = [...Map.groupBy(segmentRoutes, (route) => route.path.replace(/:\w+/g, ':x'))];
      for (const [, list] of byPath.sort(([a], [b]) => compareSpecificity(a, b)))
        mountPath(router, list, parts, limits);
      return [segment, router] as const;
    }),
  );
}

function compareSpecificity(a: string, b: string): number {
  const firstParameterIndex = (path: string) =>
    path.split('/').findIndex((part) => part.startsWith(':') || part.startsWith('*'));
  const specificityOf = (path: string) =>
    firstParameterIndex(path) === -1 ? Number.POSITIVE_INFINITY : firstParameterIndex(path);
  return specificityOf(a) === specificityOf(b) ? 0 : specificityOf(b) - specificityOf(a);
}

/** Creates the handler that passes a request to the router of its first path segment, if there is one. */
function createSegmentHandler(routers: ReadonlyMap<string, Router>): RequestHandler {
  return (req, res, next) => {
    const router = routers.get(req.path.split('/', 2)[1]!);
    if (router === undefined) next();
    else router(req, res, next);
  };
}

/**
 * Creates the function that logs a request and counts it in the metrics, when its response is sent or its connection is lost. It does
 * neither for requests for health and metrics.
 */
function createRequestObserver(host: Host): (req: Request, res: Response) => void {
  const { log } = host;
  const countRequest = createRequestCounter(host);
  return (req, res) => {
    if (isMonitoringUrl(req.url)) return;
    const startedAt = performance.now();
    const endRequest = countRequest(req);
    res.on('close', () => {
      const ms = performance.now() - startedAt;
      if (log.isLevelEnabled('info')) logRequest(log, req, res, ms);
      endRequest(res, ms / 1000);
    });
  };
}

/**
 * Creates the handler that runs before the routes. It is a single one, because Express spends about a microsecond on each.
 *
 * @param cors undefined: no origins are allowed
 * @param monitoring serves health checks and metrics, which no limit refuses
 * @param startCounting counts a request against the limits. It may throw.
 */
function createEntrance(
  observeRequest: (req: Request, res: Response) => void,
  cors: RequestHandler | undefined,
  monitoring: RequestHandler,
  startCounting: (req: Request, res: Response) => void,
): RequestHandler {
  const count: RequestHandler = (req, res, next) => {
    try {
      startCounting(req, res);
    } catch (error) {
      next(error);
      return;
    }
    next();
  };
  const countUnlessMonitoring: RequestHandler = (req, res, next) => {
    if (isMonitoringUrl(req.path)) monitoring(req, res, (error) => (error ? next(error) : count(req, res, next)));
    else count(req, res, next);
  };
  return (req, res, next) => {
    res.setHeader('X-Request-Id', assignRequestId(req));
    res.setHeader('X-Content-Type-Options', 'nosniff');
    observeRequest(req, res);
    if (cors === undefined) countUnlessMonitoring(req, res, next);
    else cors(req, res, (error) => (error ? next(error) : countUnlessMonitoring(req, res, next)));
  };
}

/**
 * Creates the HTTP application: every route of the app below `/api`, pages and health checks beside it, and the error envelope around all.
 *
 * @param pages routes whose paths do not get the prefix `/api`
 */
export function createApi(
  { routes, pages }: { routes: readonly Route[]; pages: readonly Route[] },
  endpointParts: Omit<EndpointParts, 'deprecations'>,
  health: Health,
  pending: PendingResponses,
): Express {
  const { env, log, metrics, tracing, languages } = endpointParts.host;
  const deprecations = createDeprecations({ routes, pages, records: endpointParts.records, metrics });
  const parts = { ...endpointParts, deprecations };
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', parseQueryString);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('trust proxy', parseTrustProxy(env.trustProxy));

  if (tracing.isEnabled) app.use(createRequestTracer(tracing));
  const isDevelopment = env.nodeEnv === 'development';
  const cors =
    env.corsOrigins.length > 0 || isDevelopment
      ? createCors(env.corsOrigins, { allowLocal: isDevelopment, exposed: deprecations?.headers ?? [] })
      : undefined;
  const monitoring = Router({ caseSensitive: true, strict: true });
  monitoring.use(createHealthRouter(health));
  if (env.metricsToken !== undefined) monitoring.use(createMetricsRouter(metrics, env.metricsToken));
  const limits = createRequestLimits(parts.host);
  const startCounting = (req: Request, res: Response) => {
    limits?.startCounting(req);
    pending.startCounting(req, res);
  };
  app.use(createEntrance(createRequestObserver(parts.host), cors, monitoring, startCounting));

  app.use('/api', createSegmentHandler(createSegmentRouters(routes, { ...parts, prefix: '/api' }, limits)));
  const allPages = isDevelopment ? addHomePage(pages, routes) : pages;
  if (allPages.length > 0)
    app.use(createSegmentHandler(createSegmentRouters(allPages, { ...parts, prefix: '' }, limits)));
  app.use(() => {
    throw new ApiError('NOT_FOUND');
  });
  if (limits !== undefined) {
    app.use((error: unknown, req: Request, res: Response, next: NextFunction) => {
      limits.checkUnroutedRequest(req, res).then(() => next(error), next);
    });
  }
  app.use((error: unknown, req: Request, res: Response, _next: NextFunction) => {
    const apiError = toPublicError(error);
    if (apiError.status >= 500) log.error({ err: error, requestId: getRequestId(req) }, 'a request failed');
    if (res.headersSent) {
      res.destroy();
      return;
    }
    // Close the connection instead of waiting for the rest of a body that is not read.
    if (hasBody(req) && !req.complete) res.setHeader('Connection', 'close');
    const translation = languages.for(req);
    sendError(res, translation.error(apiError), getRequestId(req)!, translation.headers);
  });
  return app;
}
