import { createHash } from 'node:crypto';
import { ApiError } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Platform } from '../platform/platform.ts';
import { createRedisBreaker } from '../platform/redis-breaker.ts';
import {
  abandon,
  clearFailures,
  type Decided,
  fail,
  type LockoutRule,
  type LockoutState,
  pass,
  RENEW_MS,
  renew,
  reserve,
} from './lockout/state.ts';
import { createLockoutStore } from './lockout/store.ts';
import { createTurns } from './lockout/turns.ts';

/** How an attempt ended. */
type Outcome<T> =
  | { kind: 'passed'; value: T }
  /** `lockedUntil`: it was this one that locked the name, until then (ISO 8601). */
  | { kind: 'failed'; lockedUntil?: string }
  | { kind: 'locked'; leftMs: number };

/**
 * Locks names under which too many attempts failed, in all processes together. Never more attempts are decided at once than may
 * still fail; those beyond wait for them.
 */
export interface Lockout {
  /**
   * Makes an attempt.
   *
   * @param name what attempts are counted by, its kind before a colon: `email:a@b.co`
   * @param check decides it; undefined: it failed. When it throws, the attempt does not count
   * @param completes whether a passed attempt clears the failed ones; default: yes
   */
  attempt<T>(name: string, check: () => Promise<T | undefined>, completes?: (value: T) => boolean): Promise<Outcome<T>>;
  /** Clears the failed attempts under a name, as a completed attempt does. A lock stays. */
  complete(name: string): Promise<void>;
  /** Forgets the failed attempts under a name, and its lock. */
  clear(name: string): Promise<void>;
}

/** The name that sign-ins with an e-mail are counted by, however it is written. */
export function signInsWith(email: string): string {
  return `email:${email.trim().toLowerCase()}`;
}

const MINUTE_MS = 60_000;

type Change<T> = (held: LockoutState, rule: LockoutRule, id: string, now: number) => Decided<T>;

/** No attempt is counted. */
const NO_LOCKOUT: Lockout = {
  async attempt(_name, check) {
    const value = await check();
    return value === undefined ? { kind: 'failed' } : { kind: 'passed', value };
  },
  complete: () => Promise.resolve(),
  clear: () => Promise.resolve(),
};

/** The lockout of the setting `auth.lockout`, counted in Redis; while it is away, in each process by itself. */
export function createLockout({ settings, redis, env, log, metrics }: Platform): Lockout {
  const { maxAttempts, windowMinutes, lockMinutes } = settings.auth.lockout;
  if (maxAttempts === 0) return NO_LOCKOUT;
  const rule = { maxAttempts, windowMs: windowMinutes * MINUTE_MS, lockMs: lockMinutes * MINUTE_MS };
  const breaker = createRedisBreaker({
    log,
    messages: {
      opened: 'failed sign-ins are counted in this process alone: Redis is away',
      closed: 'failed sign-ins are counted in Redis again',
    },
    onRefused: () => metrics.redisFallbacks.inc({ what: 'failed sign-ins' }),
  });
  const store = createLockoutStore(redis.commands, breaker, `${env.redisPrefix}:lockout:`, rule);
  const turns = createTurns();
  // A name may be an e-mail: Redis is told neither whose it is nor how long.
  const keyOf = (name: string) => createHash('sha256').update(name).digest('hex');

  /** Runs a reserved attempt, and says as long as it lasts that it is not abandoned. */
  async function decide<T>(
    check: () => Promise<T | undefined>,
    completes: (value: T) => boolean,
    change: <A>(how: Change<A>) => Promise<A>,
  ): Promise<Outcome<T>> {
    const renewing = setInterval(() => void change(renew), RENEW_MS);
    try {
      const value = await check();
      clearInterval(renewing);
      if (value !== undefined) {
        await change(completes(value) ? pass : abandon);
        return { kind: 'passed', value };
      }
      const until = await change(fail);
      return until === undefined ? { kind: 'failed' } : { kind: 'failed', lockedUntil: new Date(until).toISOString() };
    } catch (error) {
      clearInterval(renewing);
      await change(abandon);
      throw error;
    }
  }

  return {
    async attempt(name, check, completes = () => true) {
      const key = keyOf(name);
      const id = newId();
      const change = <A>(how: Change<A>) => store.change(key, (held, now) => how(held, rule, id, now));
      const answer = await turns.ask(key, () => change(reserve));
      if (answer !== 'go') return { kind: 'locked', leftMs: answer };
      try {
        return await decide(check, completes, change);
      } finally {
        turns.wake(key);
      }
    },
    complete: (name) => store.change(keyOf(name), (held, now) => clearFailures(held, rule, now)),
    clear: (name) => store.clear(keyOf(name)),
  };
}

/**
 * The 429 of a locked name. It names the whole time of a lock, and in `Retry-After` what is left of this one.
 *
 * @param what of which there were too many
 */
export function lockedOut(what: string, leftMs: number, { auth }: Platform['settings']): ApiError {
  const minutes = Math.ceil(auth.lockout.lockMinutes);
  const text = `${what}, try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
  return new ApiError('RATE_LIMITED', text, { retryAfter: Math.max(1, Math.ceil(leftMs / 1000)) });
}
