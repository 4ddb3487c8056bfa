import type { RateLimiterRes } from 'rate-limiter-flexible';
import { RateLimiterMemory } from './library.ts';
import type { LimitRule } from './rule.ts';

/** A flood of new keys must not fill the memory. At this maximum, the counts of one limit need some 30 MB, and its blocked keys some 12 MB. */
const MAX_KEYS = 50_000;

/** Counts in this process while Redis is down. The library keeps any number of keys; this limiter forgets the first of too many. */
export class BoundedMemoryLimiter extends RateLimiterMemory {
  readonly #keys = new Set<string | number>();
  // One iterator for all calls: a new one would first pass the places of the deleted keys, of which V8 keeps tens of thousands.
  readonly #firstKeys = this.#keys.values();

  constructor({ limit, windowMs }: LimitRule) {
    super({ keyPrefix: '', points: limit, duration: windowMs / 1000 });
  }

  override consume(key: string | number, amount?: number): Promise<RateLimiterRes> {
    this.#keys.add(key);
    if (this.#keys.size > MAX_KEYS) void this.delete(this.#firstKeys.next().value!);
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
  readonly #firstKeys = this.#ends.keys();

  /** Blocks a key for `ms`. Above the maximum, forgets the key that was blocked first. */
  addMs(key: string, ms: number): void {
    this.#ends.delete(key);
    this.#ends.set(key, Date.now() + ms);
    if (this.#ends.size > MAX_KEYS) this.#ends.delete(this.#firstKeys.next().value!);
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
