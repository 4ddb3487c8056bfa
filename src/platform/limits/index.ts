import type { Redis } from 'ioredis';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { createCounter } from './counter.ts';
import { createGuard } from './guard.ts';
import { createLimiter, type Limiter } from './limiter.ts';
import type { LimitRule } from './rule.ts';

/** Limits that all processes of an app share. */
export interface Limits {
  /**
   * The limiter of a rule. Make it once, not per request.
   *
   * @param name what is limited: limiters of one name and window share their counts, in every process
   */
  limiter(name: string, rule: LimitRule): Limiter;
}

/**
 * Limits counted in Redis; while it is away, in each process by itself.
 *
 * @param prefix carried by every key, so that two apps may share a Redis
 */
export function createLimits(redis: Redis, prefix: string, log: Logger, metrics: Metrics): Limits {
  const count = createCounter(redis, createGuard(log, metrics, 'limits'));
  return {
    // With the window in its name a changed one holds at once, whatever the old one had counted.
    limiter: (name, rule) => createLimiter(`${prefix}:limit:${name}:${rule.windowMs}`, rule, count),
  };
}
