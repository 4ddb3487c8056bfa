import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { Count, Counter } from './counter.ts';
import { MemoryLimiter } from './memory.ts';
import type { LimitRule } from './rule.ts';

/** What a limit says of one more. */
export interface Verdict {
  allowed: boolean;
  limit: number;
  /** How many more the window takes. */
  remaining: number;
  /** ms to the end of the window. */
  leftMs: number;
}

/** Holds one rule, for any number of keys. */
export interface Limiter {
  /** Whether a key is known to be over its limit. Asks nobody and counts nothing. */
  isSpent(key: string): boolean;
  /** Counts one more and gives the verdict. Never fails: while Redis is away it counts in this process. */
  consume(key: string): Promise<Verdict>;
}

/**
 * The library's Redis limiter with counts of our own: its own script knows whole seconds only, and sends each count by
 * itself. `_upsert` is what the library asks of a store.
 */
class RedisLimiter extends RateLimiterRedis {
  readonly #count: Counter;
  readonly #windowMs: number;
  /** The library has it, its types do not. */
  declare getInMemoryBlockMsBeforeExpire: (key: string) => number;

  constructor(name: string, rule: LimitRule, count: Counter) {
    super({
      keyPrefix: name,
      points: rule.limit,
      duration: rule.windowMs / 1000,
      // A client over the limit stays so until its window ends: a flood costs Redis nothing.
      inMemoryBlockOnConsumed: rule.limit + 1,
      insuranceLimiter: new MemoryLimiter(name, rule),
      storeClient: {},
    });
    this.#count = count;
    this.#windowMs = rule.windowMs;
  }

  _upsert(key: string): Promise<Count> {
    return this.#count(key, this.#windowMs);
  }
}

/**
 * A limiter of a rule.
 *
 * @param name what its keys begin with; the same in every process that shares the counts
 */
export function createLimiter(name: string, rule: LimitRule, count: Counter): Limiter {
  const limiter = new RedisLimiter(name, rule, count);
  const { limit } = rule;
  return {
    isSpent: (key) => limiter.getInMemoryBlockMsBeforeExpire(limiter.getKey(key)) > 0,
    async consume(key) {
      try {
        const { remainingPoints, msBeforeNext } = await limiter.consume(key);
        return { allowed: true, limit, remaining: remainingPoints, leftMs: msBeforeNext };
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal;
        return { allowed: false, limit, remaining: 0, leftMs: refusal.msBeforeNext };
      }
    },
  };
}
