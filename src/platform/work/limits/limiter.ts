import { createHash } from 'node:crypto';
import type { Count, Counter } from './counter.ts';
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
export function countedKeyOf(key: string): string {
  return key.includes('@') ? `sha256:${createHash('sha256').update(key.toLowerCase()).digest('hex')}` : key;
}

/** The maximum number of keys that one limit keeps in this process: some 10 MB. A flood of new keys must not fill the memory. */
const MAX_KEYS = 50_000;

/** Sets an entry. If the map is then too large, removes the oldest entry. */
function setBoundedEntry<V>(map: Map<string, V>, key: string, value: V): void {
  map.set(key, value);
  if (map.size > MAX_KEYS) map.delete(map.keys().next().value!);
}

/** Creates a counter in this process. The window of a key begins with its first request. */
export function createMemoryCounter(
  windowMs: number,
): ((key: string, amount?: number) => Count) & { forget(key: string): void } {
  const windows = new Map<string, { count: number; endsAt: number }>();
  const count = (key: string, amount = 1): Count => {
    const now = Date.now();
    let window = windows.get(key);
    if (window === undefined || window.endsAt <= now) {
      window = { count: 0, endsAt: now + windowMs };
      setBoundedEntry(windows, key, window);
    }
    window.count += amount;
    return [window.count, window.endsAt - now];
  };
  return Object.assign(count, { forget: (key: string) => void windows.delete(key) });
}

/**
 * Creates the limiter of a rule.
 *
 * @param name the prefix of its keys; the same in every process that shares the counts
 */
export function createLimiter(name: string, { limit, windowMs }: LimitRule, count: Counter): Limiter {
  const countInMemory = createMemoryCounter(windowMs);
  /** The end of the window of each key that is over its limit. Such keys are refused without a call to Redis. */
  const exhaustedUntil = new Map<string, number>();

  const msUntilAllowed = (key: string) => Math.max(0, (exhaustedUntil.get(key) ?? 0) - Date.now());
  const createDecision = ([used, leftMs]: Count): LimitDecision => ({
    allowed: used <= limit,
    limit,
    remaining: Math.max(0, limit - used),
    leftMs,
  });

  return {
    isExhausted: (key) => msUntilAllowed(countedKeyOf(key)) > 0,
    async consume(requestedKey, amount = 1) {
      const key = countedKeyOf(requestedKey);
      const leftMs = msUntilAllowed(key);
      if (leftMs > 0) return { allowed: false, limit, remaining: 0, leftMs };
      let counted: Count;
      try {
        counted = await count(`${name}:${key}`, windowMs, amount);
      } catch {
        // The circuit breaker has logged the error.
        return createDecision(countInMemory(key, amount));
      }
      const decision = createDecision(counted);
      if (decision.allowed) exhaustedUntil.delete(key);
      else setBoundedEntry(exhaustedUntil, key, Date.now() + decision.leftMs);
      return decision;
    },
    forget(requestedKey) {
      const key = countedKeyOf(requestedKey);
      exhaustedUntil.delete(key);
      countInMemory.forget(key);
    },
  };
}
