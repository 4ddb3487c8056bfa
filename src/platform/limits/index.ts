import type { Logger } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { createRedisBreakers } from '../redis/circuit-breaker.ts';
import type { RedisClient } from '../redis/connections.ts';
import { countBreakers, createCounter } from './counter.ts';
import { createLimiter, type Limiter } from './limiter.ts';
import type { LimitRule } from './rule.ts';

/** Rate limits that all processes of an app share. */
export interface Limits {
  /**
   * Creates the limiter of a rule. Call it once, not for each request.
   *
   * @param name the name of the limit: limiters with the same name and window share their counts in every process
   */
  limiter(name: string, rule: LimitRule): Limiter;
}

/**
 * Creates limits that are counted in Redis; while Redis is down, each process counts for itself.
 *
 * @param prefix the prefix of every key, so that two apps can share a Redis
 */
export function createLimits(redis: RedisClient, prefix: string, log: Logger, metrics: Metrics): Limits {
  metrics.redisFallbacks.inc({ what: 'limits' }, 0);
  const breakers = createRedisBreakers(countBreakers(redis), {
    log,
    messages: {
      opened: 'Redis is down: each process counts rate limits by itself',
      closed: 'Redis is available again: rate limits are counted there',
    },
    onRefused: () => metrics.redisFallbacks.inc({ what: 'limits' }),
  });
  const count = createCounter(redis, `${prefix}:limit`, breakers);
  return {
    // The window is part of the key, so that a changed window applies at once, without the counts of the old one.
    limiter: (name, rule) => createLimiter(`${name}:${rule.windowMs}`, rule, count),
  };
}
