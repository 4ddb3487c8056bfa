import type { RateLimiterRes } from 'rate-limiter-flexible';
import { RateLimiterMemory } from './library.ts';
import type { LimitRule } from './rule.ts';

/** A flood of new keys must not fill the memory. At this maximum, the counts of one limit need some 30 MB, and its blocked keys some 12 MB. */
const MAX_KEYS = 50_000;

/** Forgetting keys one by one would cost more each time, because V8 first passes the places of the keys forgotten before. */
const FORGOTTEN_AT_ONCE = 1000;

/** Forgets the keys that came first, if there are too many. */
function boundKeys<Key>(keys: ReadonlySet<Key> | ReadonlyMap<Key, unknown>, forget: (key: Key) => void): void {
  if (keys.size <= MAX_KEYS) return;
  let forgotten = 0;
  for (const key of keys.keys()) {
    forget(key);
    forgotten += 1;
    if (forgotten === FORGOTTEN_AT_ONCE) return;
  }
}

/** Counts in this process while Redis is down. The library keeps any number of keys; this limiter forgets the first of too many. */
export class BoundedMemoryLimiter extends RateLimiterMemory {
  readonly #keys = new Set<string | number>();

  constructor({ limit, windowMs }: LimitRule) {
    super({ keyPrefix: '', points: limit, duration: windowMs / 1000 });
  }

  override consume(key: string | number, amount?: number): Promise<RateLimiterRes> {
    this.#keys.add(key);
    boundKeys(this.#keys, (first) => void this.delete(first));
    return super.consume(key, amount);
  }

  override delete(key: string | number): Promise<boolean> {
    this.#keys.delete(key);
    return super.delete(key);
  }
}

/**
 * The keys that are over their limit. Takes the place of the library's `BlockedKeys`, which has no bound and, from 1,000 keys on, reads
 * all of them whenever one is added.
 */
export class BoundedBlockedKeys {
  /** When each key is allowed again, in epoch ms. */
  readonly #ends = new Map<string, number>();

  /** Blocks a key for `ms`. Above the maximum, forgets the keys that were blocked first. */
  addMs(key: string, ms: number): void {
    this.#ends.delete(key);
    this.#ends.set(key, Date.now() + ms);
    boundKeys(this.#ends, (first) => this.#ends.delete(first));
  }

  /** Returns the ms until a key is allowed again; 0 if it is now. */
  msBeforeExpire(key: string): number {
    const leftMs = (this.#ends.get(key) ?? 0) - Date.now();
    if (leftMs > 0) return leftMs;
    this.#ends.delete(key);
    return 0;
  }

  delete(key: string): void {
    this.#ends.delete(key);
  }
}
