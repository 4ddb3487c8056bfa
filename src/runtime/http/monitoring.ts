import { createHash, timingSafeEqual } from 'node:crypto';
import express, {
  type Express,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
  Router,
} from 'express';
import { Gauge } from 'prom-client';
import { withDeadline } from '../../platform/helpers/concurrency/deadline.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { isFromThisMachine } from '../../platform/http/client-address.ts';
import { assignRequestId, getRequestId } from '../../platform/http/request-context.ts';
import { sendError, sendJson } from '../../platform/http/response.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import { toPublicError } from './public-error.ts';

/** The checks of `/readyz`, by name. A check resolves if the dependency works, and rejects otherwise. */
export type HealthChecks = Record<string, () => Promise<unknown>>;

/** What `/readyz` reports. */
export interface Health {
  checks: HealthChecks;
  /** The names of checks without which the process still serves requests: if only these fail, it is `degraded`, but ready. */
  dispensable: ReadonlySet<string>;
  /** Whether the process is stopping and must get no more requests. */
  isDraining(): boolean;
}

const TIMEOUT_MS = 2000;
/** ms for which the result of a check is reused. */
const FRESH_MS = 500;

/**
 * Shares the runs of a check: callers get the run in progress, or the result of the last one while it is fresh. `/readyz` needs no token,
 * so the number of its callers must not decide how many statements Postgres and Redis get.
 */
export function shareHealthCheck(check: () => Promise<unknown>): () => Promise<unknown> {
  let last: Promise<unknown> | undefined;
  let freshUntil = 0;
  return () => {
    if (last === undefined || performance.now() >= freshUntil) {
      last = withDeadline(check(), TIMEOUT_MS).finally(() => {
        freshUntil = performance.now() + FRESH_MS;
      });
      freshUntil = Number.POSITIVE_INFINITY;
    }
    return last;
  };
}

async function runHealthCheck(check: () => Promise<unknown>): Promise<'ok' | 'failed'> {
  try {
    await check();
    return 'ok';
  } catch {
    return 'failed';
  }
}

/** Registers the gauge of the health checks. A scrape runs the checks, or reuses their last results while these are fresh. */
export function addCheckMetrics({ registry }: Metrics, checks: HealthChecks): void {
  const name = 'belfry_check_ok';
  // An app that starts more roles later also checks their work.
  registry.removeSingleMetric(name);
  new Gauge({
    name,
    help: 'Whether a health check of this process succeeds: 1 or 0.',
    labelNames: ['check'],
    registers: [registry],
    async collect() {
      const setResult = async ([check, run]: [string, () => Promise<unknown>]) =>
        this.set({ check }, (await runHealthCheck(run)) === 'ok' ? 1 : 0);
      await Promise.all(Object.entries(checks).map(setResult));
    },
  });
}

/**
 * Creates the routes of health checks. `GET /healthz`: the process responds. `GET /readyz`: its dependencies work too; a 503 names those
 * that do not. If the process can serve requests without these, it is a 200 with the status `degraded`. While the process stops, `/readyz`
 * is a 503 with the status `draining`.
 */
export function createHealthRouter({ checks, dispensable, isDraining }: Health): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get('/healthz', (_req, res) => sendJson(res, 200, { status: 'ok' }));
  router.get('/readyz', async (_req, res) => {
    if (isDraining()) {
      sendJson(res, 503, { status: 'draining', checks: {} });
      return;
    }
    const names = Object.keys(checks);
    const outcomes = await Promise.all(names.map((name) => runHealthCheck(checks[name]!)));
    const failed = names.filter((_, i) => outcomes[i] === 'failed');
    const isReady = failed.every((name) => dispensable.has(name));
    const parts = Object.fromEntries(names.map((name, i) => [name, outcomes[i]]));
    const status = failed.length === 0 ? 'ok' : isReady ? 'degraded' : 'failed';
    sendJson(res, isReady ? 200 : 503, { status, checks: parts });
  });
  return router;
}

const hashText = (text: string) => createHash('sha256').update(text).digest();

/** Creates the handler that requires a bearer token. It compares digests, because `timingSafeEqual` needs texts of one length. */
function createTokenCheck(token: string): RequestHandler {
  const expected = hashText(`Bearer ${token}`);
  return (req, _res, next) => {
    if (!timingSafeEqual(hashText(req.headers.authorization ?? ''), expected)) throw new ApiError('UNAUTHORIZED');
    next();
  };
}

/**
 * Creates the route `GET /metrics`, in the Prometheus text format.
 *
 * @param token required from clients; undefined: no token is required
 */
export function createMetricsRouter({ registry }: Metrics, token: string | undefined): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get(
    '/metrics',
    ...(token === undefined ? [] : [createTokenCheck(token)]),
    async (_req: Request, res: Response) => {
      const text = await registry.metrics();
      res.setHeader('Content-Type', registry.contentType);
      res.setHeader('Cache-Control', 'no-store');
      res.end(text);
    },
  );
  return router;
}

/** Refuses requests from other machines: without a token, metrics are only for programs on this one. */
const requireLocalClient: RequestHandler = (req, _res, next) => {
  if (!isFromThisMachine(req)) throw new ApiError('NOT_FOUND');
  next();
};

/**
 * Creates a separate application that serves only health checks, metrics or both, for a separate port.
 *
 * @param health undefined: serve no health checks
 * @param metrics undefined: serve no metrics. Without `token`, they are served to programs on this machine only.
 */
export function createMonitoringApp({
  health,
  metrics,
}: {
  health: Health | undefined;
  metrics: { metrics: Metrics; token: string | undefined } | undefined;
}): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use((req, _res, next) => {
    assignRequestId(req);
    next();
  });
  if (health !== undefined) app.use(createHealthRouter(health));
  if (metrics !== undefined) {
    if (metrics.token === undefined) app.use('/metrics', requireLocalClient);
    app.use(createMetricsRouter(metrics.metrics, metrics.token));
  }
  app.use(() => {
    throw new ApiError('NOT_FOUND');
  });
  app.use((error: unknown, req: Request, res: Response, _next: NextFunction) => {
    sendError(res, toPublicError(error), getRequestId(req)!);
  });
  return app;
}
