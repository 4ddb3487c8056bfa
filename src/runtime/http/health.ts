import { Router } from 'express';
import { withDeadline } from '../../platform/deadline.ts';
import { sendJson } from '../../platform/http/response.ts';

/** What `/readyz` asks. Each resolves when its part works, and rejects when it does not. */
export type HealthChecks = Record<string, () => Promise<unknown>>;

const TIMEOUT_MS = 2000;

async function outcome(check: () => Promise<unknown>): Promise<'ok' | 'failed'> {
  try {
    await withDeadline(check(), TIMEOUT_MS);
    return 'ok';
  } catch {
    return 'failed';
  }
}

/** `GET /healthz`: the process answers. `GET /readyz`: what it needs is there too; 503 names what is not. */
export function healthRouter(checks: HealthChecks): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get('/healthz', (_req, res) => sendJson(res, 200, { status: 'ok' }));
  router.get('/readyz', async (_req, res) => {
    const names = Object.keys(checks);
    const outcomes = await Promise.all(names.map((name) => outcome(checks[name]!)));
    const ready = outcomes.every((one) => one === 'ok');
    const parts = Object.fromEntries(names.map((name, i) => [name, outcomes[i]]));
    sendJson(res, ready ? 200 : 503, { status: ready ? 'ok' : 'failed', checks: parts });
  });
  return router;
}
