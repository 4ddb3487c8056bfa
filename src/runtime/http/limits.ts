import type { IncomingMessage } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import type { Route } from '../../declare/route.ts';
import { ApiError } from '../../platform/errors.ts';
import { addressOf, clientKey } from '../../platform/http/client-address.ts';
import type { Limiter, Verdict } from '../../platform/limits/limiter.ts';
import type { Platform } from '../../platform/platform.ts';

/** Rate limits of HTTP requests. The counts of one request go to Redis together. */
export interface RequestLimits {
  /** Begins to count a request, before anything is known of it but its client. */
  begin: RequestHandler;
  /**
   * Counts a request against the limit of its route too, and lets it pass when none is spent.
   *
   * @param route undefined: the request's path is known, its method not
   * @param meanwhile what may begin before the verdict; not called for who is known to have spent a limit
   */
  pass(route?: Route, meanwhile?: (req: Request) => void): RequestHandler;
  /** Lets a request pass that no route passed. */
  passUnrouted(req: Request, res: Response): Promise<void>;
}

/** A request that no limit has let pass yet. */
interface Begun {
  client: string;
  verdict: Promise<Verdict> | undefined;
}

/** Which of two verdicts a client must mind: a refusal, the longer one of two; else the one that leaves less. */
function stricter(a: Verdict, b: Verdict): Verdict {
  if (a.allowed !== b.allowed) return a.allowed ? b : a;
  if (!a.allowed) return a.leftMs > b.leftMs ? a : b;
  return a.remaining < b.remaining ? a : b;
}

/**
 * Tells the client (the three fields of draft-ietf-httpapi-ratelimit-headers up to -06, times in seconds from now).
 *
 * @throws ApiError RATE_LIMITED
 */
function tell(res: Response, { allowed, limit, remaining, leftMs }: Verdict): void {
  const seconds = Math.max(1, Math.ceil(leftMs / 1000));
  res.setHeader('RateLimit-Limit', limit);
  res.setHeader('RateLimit-Remaining', remaining);
  res.setHeader('RateLimit-Reset', seconds);
  if (!allowed) throw new ApiError('RATE_LIMITED', undefined, { retryAfter: seconds });
}

const clientOf = (req: Request) => clientKey(addressOf(req));

/** The rate limits of an app; undefined where they are off. */
export function createRequestLimits({ env, settings, limits }: Platform): RequestLimits | undefined {
  const { enabled = env.nodeEnv !== 'test', global: globalRule, auth: authRule } = settings.rateLimit;
  if (!enabled) return undefined;
  const all = globalRule === false ? undefined : limits.limiter('all', globalRule);
  const begun = new WeakMap<IncomingMessage, Begun>();

  function limiterOf({ method, path, rateLimit }: Route): Limiter | undefined {
    const rule = rateLimit === 'auth' ? authRule : rateLimit;
    // As it is declared, not as it was typed: one route is one bucket.
    return rule === undefined || rule === false ? undefined : limits.limiter(`${method} ${path}`, rule);
  }

  async function check(req: Request, res: Response, own?: Limiter, meanwhile?: (req: Request) => void): Promise<void> {
    // A route that hands over to the next one (`next('route')`) has let the request pass the global limit already.
    const { client, verdict } = begun.get(req) ?? { client: clientOf(req), verdict: undefined };
    begun.delete(req);
    const spent = all?.isSpent(client) ?? false;
    const ownVerdict = spent ? undefined : own?.consume(client);
    if (!spent && !own?.isSpent(client)) meanwhile?.(req);
    const verdicts = [await verdict, await ownVerdict].filter((one) => one !== undefined);
    if (verdicts.length > 0) tell(res, verdicts.reduce(stricter));
  }

  return {
    begin(req, _res, next) {
      const client = clientOf(req);
      begun.set(req, { client, verdict: all?.consume(client) });
      next();
    },
    pass(route, meanwhile) {
      const own = route === undefined ? undefined : limiterOf(route);
      return (req, res, next) => {
        check(req, res, own, meanwhile).then(() => next(), next);
      };
    },
    async passUnrouted(req, res) {
      if (begun.has(req)) await check(req, res);
    },
  };
}
