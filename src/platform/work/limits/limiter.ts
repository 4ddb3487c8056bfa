import { createHash } from 'node:crypto';
import type { RedisClient } from '../../data/redis/connections.ts';
import { BoundedBlockedKeys, BoundedMemoryLimiter } from './bounded-memory.ts';
import type { Count, Counter } from './counter.ts';
import { RateLimiterRedis, RateLimiterRes } from './library.ts';
import type { LimitRule } from './rule.ts';

/** The decision of a rate limit about one request. */
export interface LimitDecision {
  allowed: boolean;
  limit: number;
  /** How many more requests the window allows. */
  remaining: number;
  /** ms until the end of the window. */
  leftMs: number;
}

/** Applies a rate limit to any number of keys, such as clients. A key with an e-mail address is counted under its hash. */
export interface Limiter {
  /** Whether a key is known to be over its limit. Counts nothing and does not query Redis. */
  isExhausted(key: string): boolean;
  /**
   * Counts requests for a key, such as an address or a user, and returns whether they are within the limit. Never fails: while Redis
   * is down, each process keeps its own count.
   *
   * @param amount the number of requests, by default one
   */
  consume(key: string, amount?: number): Promise<LimitDecision>;
  /** Forgets what this process remembers about a key: the end of its window, and counts from while Redis was down. */
  forget(key: string): void;
}

/** Returns a key as it is counted: one that contains an e-mail address as a hash, which keeps the address out of Redis and of lists. */
export function toCountedKey(key: string): string {
  return key.includes('@') ? `sha256:${createHash('sha256').update(key.toLowerCase()).digest('hex')}` : key;
}

/**
 * The library's limiter. It decides, refuses blocked keys without Redis, and counts in memory while the counter fails. Two of its parts are
 * replaced: `_upsert`, by which it adds to a count, sends each count on its own and rounds windows down to whole seconds; its blocked keys have
 * no bound. The library's types contain neither.
 */
class RedisLimiter extends RateLimiterRedis {
  readonly #count: Counter;
  readonly #windowMs: number;
  readonly _inMemoryBlockedKeys = new BoundedBlockedKeys();

  constructor(
    name: string,
    rule: LimitRule,
    options: { redis: RedisClient; count: Counter; insuranceLimiter: BoundedMemoryLimiter },
  ) {
    super({
      keyPrefix: name,
      points: rule.limit,
      duration: rule.windowMs / 1000,
      inMemoryBlockOnConsumed: rule.limit + 1,
      insuranceLimiter: options.insuranceLimiter,
      storeClient: options.redis,
    });
    this.#count = options.count;
    this.#windowMs = rule.windowMs;
  }

  _upsert(key: string, amount: number): Promise<Count> {
    return this.#count(key, this.#windowMs, amount);
  }
}

/**
 * Creates the limiter of a rule.
 *
 * @param name the prefix of its keys; the same in every process that shares the counts
 * @param count counts in Redis
 */
export function createLimiter(name: string, rule: LimitRule, redis: RedisClient, count: Counter): Limiter {
  const insuranceLimiter = new BoundedMemoryLimiter(rule);
  const limiter = new RedisLimiter(name, rule, { redis, count, insuranceLimiter });
  const blockedKeys = limiter._inMemoryBlockedKeys;
  const { limit } = rule;
  return {
    isExhausted: (key) => blockedKeys.msBeforeExpire(limiter.getKey(toCountedKey(key))) > 0,
    async consume(requestedKey, amount) {
      try {
        const { remainingPoints, msBeforeNext } = await limiter.consume(toCountedKey(requestedKey), amount);
        return { allowed: true, limit, remaining: remainingPoints, leftMs: Math.round(msBeforeNext) };
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal;
        return { allowed: false, limit, remaining: 0, leftMs: Math.round(refusal.msBeforeNext) };
      }
    },
    forget(requestedKey) {
      const key = toCountedKey(requestedKey);
      blockedKeys.delete(limiter.getKey(key));
      void insuranceLimiter.delete(key);
    },
  };
}
