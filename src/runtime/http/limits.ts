import type { Request, Response } from 'express';
import { Counter } from 'prom-client';
import type { Route } from '../../declare/route.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { addressOf, clientKeyOf, isFromThisMachine } from '../../platform/http/client-address.ts';
import { createPerRequestStore } from '../../platform/http/per-request.ts';
import type { Platform } from '../../platform/platform.ts';
import type { LimitDecision, Limiter } from '../../platform/work/limits/limiter.ts';
import type { LimitRule } from '../../platform/work/limits/rule.ts';

/**
 * Counts a request as `weight` requests. One of them was already counted when the request arrived.
 *
 * @throws ApiError RATE_LIMITED
 */
export type WeightCounter = (req: Request, res: Response, weight: number) => Promise<void>;

/** Counts a request. @throws ApiError RATE_LIMITED */
export type LimitCheck = (req: Request, res: Response) => Promise<void>;

/** Rate limits of HTTP requests. The counts of one request are sent to Redis together. */
export interface RequestLimits {
  /** Counts a request of a client against the limit over all routes, before the route is known. */
  startCounting(req: Request): void;
  /**
   * Creates the function that counts a request against the limit of its route too, and resolves if no limit is exceeded.
   *
   * @param route undefined: the request's path is known, its method is not
   * @param startMeanwhile starts work before the verdict; not called for a client that is known to be over a limit
   */
  createLimitCheck(route?: Route, startMeanwhile?: (req: Request) => void): LimitCheck;
  /** Creates the counter of a route with `weight`; undefined for other routes. */
  createWeightCounter(route: Route): WeightCounter | undefined;
  /** Resolves if a request that matched no route is within the limits. @throws ApiError RATE_LIMITED */
  checkUnroutedRequest(req: Request, res: Response): Promise<void>;
}

/** The client and the pending verdict of a request that has not passed the limits yet. */
interface PendingCheck {
  client: string;
  verdict: Promise<LimitDecision> | undefined;
}

/** Returns the stricter of two verdicts: the refusal, the longer of two refusals, or the one with fewer remaining requests. */
function pickStricter(a: LimitDecision, b: LimitDecision): LimitDecision {
  if (a.allowed !== b.allowed) return a.allowed ? b : a;
  if (!a.allowed) return a.leftMs > b.leftMs ? a : b;
  return a.remaining < b.remaining ? a : b;
}

const secondsLeft = ({ leftMs }: LimitDecision) => Math.max(1, Math.ceil(leftMs / 1000));

/** Sets the three fields of draft-ietf-httpapi-ratelimit-headers up to -06; times are in seconds from now. */
function setRateLimitHeaders(res: Response, verdict: LimitDecision): void {
  res.setHeader('RateLimit-Limit', verdict.limit);
  res.setHeader('RateLimit-Remaining', verdict.remaining);
  res.setHeader('RateLimit-Reset', secondsLeft(verdict));
}

/** A limiter with its rule, and the name of the setting that changes the rule. */
interface RequestLimiter extends Limiter {
  /** `all`, or the method and the pattern of a route. */
  name: string;
  rule: LimitRule;
  /** The name of that setting: `settings.rateLimit.auth`. */
  setting: string;
}

const UNITS = [
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const;

/** Formats a duration in words: `15 minutes`. */
function formatDuration(ms: number): string {
  const [unit, size] = UNITS.find(([, size]) => ms % size === 0) ?? ['ms', 1];
  const count = ms / size;
  return unit === 'ms' || count === 1 ? `${count} ${unit}` : `${count} ${unit}s`;
}

/** Returns the message of a 429 in development: which limit was exceeded, how long it lasts, and which setting changes it. */
function explainRefusal(
  verdict: LimitDecision,
  { rule, setting }: RequestLimiter,
  what: string,
  canLift: boolean,
): string {
  const hint = canLift ? ', or set LOOPBACK_RATE_LIMITS=off to lift the limits for clients on this machine' : '';
  return (
    `Too many requests: a client may send ${rule.limit} in ${formatDuration(rule.windowMs)} to ${what} (${setting}). ` +
    `Try again in ${secondsLeft(verdict)} seconds${hint}.`
  );
}

const getClientKey = (req: Request) => clientKeyOf(addressOf(req));

/** The limiters of an app. */
interface RequestLimiters {
  /** Of all routes together; undefined if a setting lifts that limit. */
  all: RequestLimiter | undefined;
  /** Creates the limiter of a single route; undefined if it has no limit of its own. */
  createRouteLimiter(route: Route): RequestLimiter | undefined;
}

function createRequestLimiters({ settings, limits }: Pick<Platform, 'settings' | 'limits'>): RequestLimiters {
  const { global: globalRule, auth: authRule } = settings.rateLimit;
  const createRequestLimiter = (name: string, rule: LimitRule, setting: string): RequestLimiter => ({
    ...limits.limiter(name, rule),
    name,
    rule,
    setting,
  });
  return {
    all: globalRule === false ? undefined : createRequestLimiter('all', globalRule, 'settings.rateLimit.global'),
    createRouteLimiter({ method, path, rateLimit }) {
      const rule = rateLimit === 'auth' ? authRule : rateLimit;
      const setting = rateLimit === 'auth' ? 'settings.rateLimit.auth' : 'rateLimit of the route';
      // Name the limiter after the route's declared path, not the requested one: a route has a single counter per client.
      return rule === undefined || rule === false
        ? undefined
        : createRequestLimiter(`${method} ${path}`, rule, setting);
    },
  };
}

/** The verdicts about a request; undefined where no limit applies. */
interface Verdicts {
  ofAll: LimitDecision | undefined;
  ofRoute?: LimitDecision | undefined;
}

/** Creates the function that sets the headers of the stricter verdict about a request. It throws ApiError RATE_LIMITED for a refusal. */
function createVerdictHandler(
  { env, metrics }: Pick<Platform, 'env' | 'metrics'>,
  all: RequestLimiter | undefined,
): (req: Request, res: Response, verdicts: Verdicts, own?: RequestLimiter) => void {
  const refusals = new Counter({
    name: 'belfry_rate_limit_refusals_total',
    help: 'Requests refused with 429 by a rate limit: "all", or the method and pattern of a route.',
    labelNames: ['limit'],
    registers: [metrics.registry],
  });

  /** The 429 response. In production, clients get only the text of the catalogue. */
  function createRateLimitError(req: Request, verdict: LimitDecision, exceeded: RequestLimiter): ApiError {
    const what =
      exceeded === all ? 'all routes together' : `${req.method} ${req.baseUrl}${req.route?.path ?? req.path}`;
    const text =
      env.nodeEnv === 'development' ? explainRefusal(verdict, exceeded, what, env.loopbackRateLimits) : undefined;
    return new ApiError('RATE_LIMITED', text, { retryAfter: secondsLeft(verdict) });
  }

  return (req, res, { ofAll, ofRoute }, own) => {
    const verdicts = [ofAll, ofRoute].filter((one) => one !== undefined);
    if (verdicts.length === 0) return;
    const strictest = verdicts.reduce(pickStricter);
    setRateLimitHeaders(res, strictest);
    if (strictest.allowed) return;
    const exceededLimit = (strictest === ofAll ? all : own)!;
    refusals.inc({ limit: exceededLimit.name });
    throw createRateLimitError(req, strictest, exceededLimit);
  };
}

/** Creates the rate limits of an app; undefined if they are off. */
export function createRequestLimits(platform: Platform): RequestLimits | undefined {
  const { env, settings } = platform;
  const { enabled = env.nodeEnv !== 'test' } = settings.rateLimit;
  if (!enabled) return undefined;
  const { all, createRouteLimiter } = createRequestLimiters(platform);
  const applyVerdicts = createVerdictHandler(platform, all);
  const pendingChecks = createPerRequestStore<PendingCheck>('limits');
  const isExempt = (req: Request) => !env.loopbackRateLimits && isFromThisMachine(req);

  /** Awaits the verdicts about a request and sets the rate limit headers. @throws ApiError RATE_LIMITED */
  async function checkLimits(
    req: Request,
    res: Response,
    own?: RequestLimiter,
    startMeanwhile?: (req: Request) => void,
  ): Promise<void> {
    if (isExempt(req)) {
      startMeanwhile?.(req);
      return;
    }
    // There is no pending check if an earlier route passed the request on with `next('route')`: the global limit was checked there.
    const { client, verdict } = pendingChecks.get(req) ?? { client: getClientKey(req), verdict: undefined };
    pendingChecks.delete(req);
    const exceeded = all?.isExhausted(client) ?? false;
    const ownVerdict = exceeded ? undefined : own?.consume(client);
    if (!exceeded && !own?.isExhausted(client)) startMeanwhile?.(req);
    const ofAll = await verdict;
    applyVerdicts(req, res, { ofAll, ofRoute: await ownVerdict }, own);
  }

  return {
    startCounting(req) {
      if (isExempt(req)) return;
      const client = getClientKey(req);
      pendingChecks.set(req, { client, verdict: all?.consume(client) });
    },
    createLimitCheck(route, startMeanwhile) {
      const own = route === undefined ? undefined : createRouteLimiter(route);
      return (req, res) => checkLimits(req, res, own, startMeanwhile);
    },
    createWeightCounter(route) {
      if (route.weight === undefined || all === undefined) return undefined;
      return async (req, res, weight) => {
        if (weight < 2 || isExempt(req)) return;
        applyVerdicts(req, res, { ofAll: await all.consume(getClientKey(req), weight - 1) });
      };
    },
    async checkUnroutedRequest(req, res) {
      if (pendingChecks.get(req) !== undefined) await checkLimits(req, res);
    },
  };
}
