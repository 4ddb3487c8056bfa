import type { Redis } from 'ioredis';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { createRedisBreaker } from '../redis-breaker.ts';
import { createCounter } from './counter.ts';
import { createLimiter, type Limiter } from './limiter.ts';
import type { LimitRule } from './rule.ts';

/** Limits that all processes of an app share. */
export interface Limits {
  /**
   * Creates the limiter of a rule: once, not for each request.
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
  const breaker = createRedisBreaker({
    log,
    messages: {
      opened: 'limits are counted in this process alone: Redis is away',
      closed: 'limits are counted in Redis again',
    },
    onRefused: () => metrics.redisFallbacks.inc({ what: 'limits' }),
  });
  const count = createCounter(redis, breaker);
  return {
    // The window is part of the name, so that a changed window applies at once, whatever the old one had counted.
    limiter: (name, rule) => createLimiter(`${prefix}:limit:${name}:${rule.windowMs}`, rule, count),
  };
}
