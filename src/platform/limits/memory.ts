import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import type { LimitRule } from './rule.ts';

/** Keys of one limit that are remembered: about 20 MB. */
const MAX_KEYS = 50_000;

/**
 * Counts in this process, while Redis is away. A flood from ever new addresses must not fill the memory: beyond a bound
 * the key that came first is forgotten.
 */
export class MemoryLimiter extends RateLimiterMemory {
  // A Set keeps the order of insertion.
  readonly #keys = new Set<string | number>();

  constructor(name: string, { limit, windowMs }: LimitRule) {
    super({ keyPrefix: name, points: limit, duration: windowMs / 1000 });
  }

  override consume(key: string | number): Promise<RateLimiterRes> {
    if (!this.#keys.has(key)) {
      this.#keys.add(key);
      if (this.#keys.size > MAX_KEYS) {
        const [first] = this.#keys;
        this.#keys.delete(first!);
        void this.delete(first!);
      }
    }
    return super.consume(key);
  }
}
