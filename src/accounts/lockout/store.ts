import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { RedisBreaker } from '../../platform/redis-breaker.ts';
import { CLEAN, type Decided, type LockoutRule, type LockoutState, lifetime } from './state.ts';

/** Changes what is remembered under a key. It may be called several times: the state can change under it. */
type Decide<T> = (held: LockoutState, now: number) => Decided<T>;

/** Where the states of a lockout are kept. */
export interface LockoutStore {
  /** Changes a state, atomically. Never fails: while Redis is away each process remembers for itself. */
  change<T>(key: string, decide: Decide<T>): Promise<T>;
  /** Forgets a state. */
  clear(key: string): Promise<void>;
}

/** States that one process remembers while Redis is away: some 10 MB. */
const MAX_KEYS = 50_000;

// Writes a state if it is still the one that was read; without ARGV[3] (ms to live) there is nothing left to remember.
const SWAP = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if ARGV[3] then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) else redis.call('DEL', KEYS[1]) end
return 1`;

const stored = z.object({
  failures: z.array(z.number()),
  flights: z.record(z.string(), z.number()),
  lockedUntil: z.number(),
});

/** A state as Redis has it. What is none, whoever wrote it, is as good as nothing. */
function parse(text: string): LockoutState {
  try {
    return stored.safeParse(JSON.parse(text)).data ?? CLEAN;
  } catch {
    return CLEAN;
  }
}

type Scripted = Redis & { belfryLockoutSwap(key: string, ...values: (string | number)[]): Promise<number> };

/** This process's own memory. */
function createMemory() {
  // A Map keeps the order of insertion.
  const states = new Map<string, LockoutState>();
  return {
    change<T>(key: string, decide: Decide<T>, rule: LockoutRule): T {
      const now = Date.now();
      const { state, answer } = decide(states.get(key) ?? CLEAN, now);
      states.delete(key);
      if (lifetime(state, rule, now) > 0) states.set(key, state);
      // A flood of ever new names must not fill the memory: the one that was used longest ago is forgotten.
      if (states.size > MAX_KEYS) states.delete(states.keys().next().value!);
      return answer;
    },
    clear: (key: string) => states.delete(key),
  };
}

/** @param prefix carried by every key */
export function createLockoutStore(
  redis: Redis,
  breaker: RedisBreaker,
  prefix: string,
  rule: LockoutRule,
): LockoutStore {
  redis.defineCommand('belfryLockoutSwap', { numberOfKeys: 1, lua: SWAP });
  const memory = createMemory();

  /** The text of a state and the time by Redis, which is the same for all processes. */
  async function read(key: string): Promise<[text: string, now: number]> {
    const [text, [seconds, micros]] = await breaker.run(() => Promise.all([redis.get(key), redis.time()]));
    return [text ?? '', Math.floor(Number(seconds) * 1000 + Number(micros) / 1000)];
  }

  async function changeShared<T>(key: string, decide: Decide<T>): Promise<T> {
    for (;;) {
      const [text, now] = await read(key);
      const held = parse(text);
      const { state, answer } = decide(held, now);
      if (state === held) return answer;
      const left = Math.ceil(lifetime(state, rule, now));
      const next = left > 0 ? [text, JSON.stringify(state), left] : [text, ''];
      // Where another was quicker, that one got on, so this ends.
      if ((await breaker.run(() => (redis as Scripted).belfryLockoutSwap(key, ...next))) === 1) return answer;
    }
  }

  return {
    async change(key, decide) {
      const whole = prefix + key;
      try {
        return await changeShared(whole, decide);
      } catch {
        // The circuit breaker has logged it.
        return memory.change(whole, decide, rule);
      }
    },
    async clear(key) {
      const whole = prefix + key;
      memory.clear(whole);
      await breaker.run(() => redis.del(whole)).catch(() => undefined);
    },
  };
}
