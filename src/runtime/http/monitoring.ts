import { createHash, timingSafeEqual } from 'node:crypto';
import express, {
  type Express,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
  Router,
} from 'express';
import { withDeadline } from '../../platform/concurrency/deadline.ts';
import { ApiError } from '../../platform/errors.ts';
import { assignRequestId, requestIdOf } from '../../platform/http/request-context.ts';
import { sendError, sendJson } from '../../platform/http/response.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import { toPublicError } from './public-error.ts';

/** The checks of `/readyz`, by name. A check resolves if the dependency works, and rejects otherwise. */
export type HealthChecks = Record<string, () => Promise<unknown>>;

const TIMEOUT_MS = 2000;

async function runHealthCheck(check: () => Promise<unknown>): Promise<'ok' | 'failed'> {
  try {
    await withDeadline(check(), TIMEOUT_MS);
    return 'ok';
  } catch {
    return 'failed';
  }
}

/**
 * Creates the routes of health checks. `GET /healthz`: the process responds. `GET /readyz`: its dependencies work too; a 503 names those
 * that do not.
 */
export function createHealthRouter(checks: HealthChecks): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get('/healthz', (_req, res) => sendJson(res, 200, { status: 'ok' }));
  router.get('/readyz', async (_req, res) => {
    const names = Object.keys(checks);
    const outcomes = await Promise.all(names.map((name) => runHealthCheck(checks[name]!)));
    const ready = outcomes.every((outcome) => outcome === 'ok');
    const parts = Object.fromEntries(names.map((name, i) => [name, outcomes[i]]));
    sendJson(res, ready ? 200 : 503, { status: ready ? 'ok' : 'failed', checks: parts });
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

/** Creates a separate application that serves only `GET /metrics`, for a separate port. */
export function createMetricsApp(metrics: Metrics, token: string | undefined): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use((req, _res, next) => {
    assignRequestId(req);
    next();
  });
  app.use(createMetricsRouter(metrics, token));
  app.use(() => {
    throw new ApiError('NOT_FOUND');
  });
  app.use((error: unknown, req: Request, res: Response, _next: NextFunction) => {
    sendError(res, toPublicError(error), requestIdOf(req)!);
  });
  return app;
}
