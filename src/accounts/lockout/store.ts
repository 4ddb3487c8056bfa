import { z } from 'zod';
import type { RedisBreaker } from '../../platform/data/redis/circuit-breaker.ts';
import type { RedisClient } from '../../platform/data/redis/connections.ts';
import { findKeys, readKey } from '../../platform/data/redis/find-keys.ts';
import { EMPTY_STATE, type LockoutRule, type LockoutState, msUntilStateExpires, type Transition } from './state.ts';

/** Computes the next lockout state. May be called several times, because another process can change the state in between. */
type Decide<T> = (held: LockoutState, now: number) => Transition<T>;

/**
 * Stores the lockout state of each name. The library of the rate limits could not: it stores one number per name, with one end. A lockout needs
 * the time of each failure, running attempts that end with their process, and a lock that a right password does not lift.
 */
interface LockoutStore {
  /** Changes the state of a key atomically. Never fails: while Redis is unreachable, each process uses its own memory. */
  changeState<T>(key: string, decide: Decide<T>): Promise<T>;
  /**
   * Deletes the state of a key, in Redis and in the memory of this process.
   *
   * @throws the error of Redis if it is not usable, so that the state there remains
   */
  deleteState(key: string): Promise<void>;
  /**
   * Reads states from Redis.
   *
   * @param only default: up to 1,000 of all keys
   * @throws the error of Redis if it is not usable
   */
  findStates(only?: readonly string[]): Promise<{ states: { key: string; state: LockoutState }[]; isCut: boolean }>;
}

/** Maximum number of states that one process keeps in memory while Redis is unreachable: about 10 MB. */
const MAX_KEYS = 50_000;

// Returns the stored state, and the time of the server that has the key, which is the same for all processes.
const READ = `
local now = redis.call('TIME')
return {redis.call('GET', KEYS[1]) or '', now[1], now[2]}`;

// Compare and swap: writes ARGV[2] if the stored state is still ARGV[1]. Without ARGV[3] (ms to live) the key is deleted.
const SWAP = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if ARGV[3] then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) else redis.call('DEL', KEYS[1]) end
return 1`;

const stored = z.object({
  failures: z.array(z.number()),
  flights: z.record(z.string(), z.number()),
  lockedUntil: z.number(),
});

/** Parses the state that Redis stores. An unreadable state counts as empty. */
function parseState(text: string): LockoutState {
  try {
    return stored.safeParse(JSON.parse(text)).data ?? EMPTY_STATE;
  } catch {
    return EMPTY_STATE;
  }
}

type RedisWithScripts = RedisClient & {
  belfryLockoutRead(key: string): Promise<[state: string, seconds: string, micros: string]>;
  belfryLockoutSwap(key: string, ...values: (string | number)[]): Promise<number>;
};

/** Keeps states in the memory of this process. */
function createMemoryStates() {
  // A Map keeps the order of insertion, so its first key is the one that was used least recently.
  const states = new Map<string, LockoutState>();
  return {
    changeState<T>(key: string, decide: Decide<T>, rule: LockoutRule): T {
      const now = Date.now();
      const { state, result } = decide(states.get(key) ?? EMPTY_STATE, now);
      states.delete(key);
      if (msUntilStateExpires(state, rule, now) > 0) states.set(key, state);
      // A flood of new names must not fill the memory: drop the state that was used least recently.
      if (states.size > MAX_KEYS) states.delete(states.keys().next().value!);
      return result;
    },
    deleteState: (key: string) => states.delete(key),
  };
}

/**
 * Creates a store that keeps states in Redis and falls back to memory.
 *
 * @param prefix of every Redis key
 */
export function createLockoutStore(
  redis: RedisClient,
  breaker: RedisBreaker,
  prefix: string,
  rule: LockoutRule,
): LockoutStore {
  redis.defineCommand('belfryLockoutRead', { numberOfKeys: 1, lua: READ });
  redis.defineCommand('belfryLockoutSwap', { numberOfKeys: 1, lua: SWAP });
  const scripts = redis as RedisWithScripts;
  const memory = createMemoryStates();

  async function readStateAndTime(key: string): Promise<[text: string, now: number]> {
    const [text, seconds, micros] = await breaker.run(() => scripts.belfryLockoutRead(key));
    return [text, Math.floor(Number(seconds) * 1000 + Number(micros) / 1000)];
  }

  async function readKeys(keys: readonly string[]) {
    const read = keys.map(async (key) => ({
      key: prefix + key,
      value: (await readKey(redis, prefix + key)).value ?? '',
    }));
    return { keys: await Promise.all(read), isCut: false };
  }

  async function changeStateInRedis<T>(key: string, decide: Decide<T>): Promise<T> {
    for (;;) {
      const [text, now] = await readStateAndTime(key);
      const held = parseState(text);
      const { state, result } = decide(held, now);
      if (state === held) return result;
      const left = Math.ceil(msUntilStateExpires(state, rule, now));
      const next = left > 0 ? [text, JSON.stringify(state), left] : [text, ''];
      // If the swap fails, another process changed the state: try again. The loop ends, because a state allows few attempts.
      if ((await breaker.run(() => scripts.belfryLockoutSwap(key, ...next))) === 1) return result;
    }
  }

  return {
    async changeState(key, decide) {
      const whole = prefix + key;
      try {
        return await changeStateInRedis(whole, decide);
      } catch {
        // The circuit breaker has logged that Redis is unreachable.
        return memory.changeState(whole, decide, rule);
      }
    },
    async deleteState(key) {
      const whole = prefix + key;
      memory.deleteState(whole);
      await breaker.run(() => redis.del(whole));
    },
    async findStates(only) {
      const { keys, isCut } = only === undefined ? await findKeys(redis, prefix) : await readKeys(only);
      return {
        states: keys.map(({ key, value }) => ({ key: key.slice(prefix.length), state: parseState(value) })),
        isCut,
      };
    },
  };
}
