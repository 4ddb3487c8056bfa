import { hash } from 'node:crypto';
import type { Lockouts } from '../../declare/lockouts.ts';
import { createRedisBreaker } from '../../platform/data/redis/circuit-breaker.ts';
import { MINUTE_MS } from '../../platform/helpers/duration.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { newId } from '../../platform/helpers/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import { createLeaseRenewals } from '../../platform/work/leased-work/lease.ts';
import {
  clearFailures,
  type LockoutRule,
  type LockoutState,
  type LockoutStatus,
  RENEW_MS,
  readStatus,
  recordFailure,
  recordSuccess,
  releaseReservation,
  renewReservation,
  reserveAttempt,
  type Transition,
} from './state.ts';
import { createLockoutStore } from './store.ts';
import { createWaitQueues } from './wait-queue.ts';

/** The outcome of an attempt, such as a sign-in. */
type Outcome<T> =
  | { kind: 'passed'; value: T }
  /** `lockedUntil` (ISO 8601): set when this attempt locked the name. */
  | { kind: 'failed'; lockedUntil?: string }
  /** `leftMs`: ms until the lock ends. */
  | { kind: 'locked'; leftMs: number };

/**
 * Locks a name after too many failed attempts, counted over all processes. Concurrent attempts cannot exceed the limit: while as
 * many attempts are running as may still fail, further ones wait.
 */
export interface Lockout {
  /**
   * Runs an attempt, or refuses it when the name is locked.
   *
   * @param name that attempts are counted under, prefixed with its kind: `email:a@b.co`
   * @param check runs the attempt; undefined means that it failed. When it throws, the attempt does not count
   * @param completes whether a passed attempt clears the failed attempts; default: yes
   */
  runAttempt<T>(
    name: string,
    check: () => Promise<T | undefined>,
    completes?: (value: T) => boolean,
  ): Promise<Outcome<T>>;
  /** Clears the failed attempts under a name, as a completed attempt does. A lock remains. */
  clearFailedAttempts(name: string): Promise<void>;
  /** Clears the failed attempts under a name and its lock. While Redis is unreachable, they remain there. */
  clearFailedAttemptsAndLock(name: string): Promise<void>;
  /** Returns the failed attempts under a name and the end of its lock. @throws ApiError UNAVAILABLE while Redis cannot be reached */
  readStatus(name: string): Promise<LockoutStatus>;
  /** For administrators. */
  administration: Lockouts;
}

/** Returns the name that sign-ins with an e-mail address are counted under. */
export function signInLockoutName(email: string): string {
  return `email:${email.trim().toLowerCase()}`;
}

/** The place that a running attempt has reserved among the attempts that may still fail. */
interface Reservation {
  /** Changes the lockout state of the name that the attempt is counted under. */
  changeState<T>(how: Change<T>): Promise<T>;
}

type Change<T> = (held: LockoutState, rule: LockoutRule, id: string, now: number) => Transition<T>;

/** The lockout if the setting `auth.lockout.maxAttempts` is 0: runs every attempt and counts none. */
const NO_LOCKOUT: Lockout = {
  async runAttempt(_name, check) {
    const value = await check();
    return value === undefined ? { kind: 'failed' } : { kind: 'passed', value };
  },
  clearFailedAttempts: () => Promise.resolve(),
  clearFailedAttemptsAndLock: () => Promise.resolve(),
  readStatus: async () => ({ failures: 0, lockedUntil: null }),
  administration: {
    rule: undefined,
    find: async () => ({ lockouts: [], isCut: false }),
    idsOf: () => [],
    clear: () => Promise.resolve(),
  },
};

/** Creates the lockout of the setting `auth.lockout`. It counts in Redis, and in each process separately while Redis is unreachable. */
export function createLockout({ settings, redis, env, log, metrics }: Platform): Lockout {
  const { maxAttempts, windowMinutes, lockMinutes } = settings.auth.lockout;
  if (maxAttempts === 0) return NO_LOCKOUT;
  const rule = { maxAttempts, windowMs: windowMinutes * MINUTE_MS, lockMs: lockMinutes * MINUTE_MS };
  metrics.redisFallbacks.inc({ what: 'failed sign-ins' }, 0);
  const breaker = createRedisBreaker({
    log,
    messages: {
      opened: 'Redis is unreachable; failed sign-ins are counted in this process only',
      closed: 'Redis is reachable again; failed sign-ins are counted in Redis',
    },
    onRefused: () => metrics.redisFallbacks.inc({ what: 'failed sign-ins' }),
  });
  const store = createLockoutStore(redis.commands, breaker, `${env.redisPrefix}:lockout:`, rule);
  const waitQueues = createWaitQueues();
  const renewals = createLeaseRenewals<Reservation>({
    everyMs: RENEW_MS,
    what: 'sign-in attempts',
    log,
    renew: async (reservations) => {
      await Promise.all(reservations.map(({ changeState }) => changeState(renewReservation)));
    },
  });
  // A name may contain an e-mail address: the hash keeps the address and its length out of Redis.
  const hashName = (name: string) => hash('sha256', name);

  /** Runs a reserved attempt and renews its reservation while it runs. */
  async function runReservedAttempt<T>(
    check: () => Promise<T | undefined>,
    completes: (value: T) => boolean,
    reservation: Reservation,
  ): Promise<Outcome<T>> {
    const { changeState } = reservation;
    renewals.add(reservation);
    try {
      const value = await check();
      renewals.remove(reservation);
      if (value !== undefined) {
        await changeState(completes(value) ? recordSuccess : releaseReservation);
        return { kind: 'passed', value };
      }
      const until = await changeState(recordFailure);
      return until === undefined ? { kind: 'failed' } : { kind: 'failed', lockedUntil: new Date(until).toISOString() };
    } catch (error) {
      renewals.remove(reservation);
      await changeState(releaseReservation);
      throw error;
    }
  }

  return {
    async runAttempt(name, check, completes = () => true) {
      const key = hashName(name);
      const id = newId();
      const reservation: Reservation = {
        changeState: (how) => store.changeState(key, (held, now) => how(held, rule, id, now)),
      };
      const verdict = await waitQueues.retryInOrder(key, () => reservation.changeState(reserveAttempt));
      if (verdict !== 'go') return { kind: 'locked', leftMs: verdict };
      try {
        return await runReservedAttempt(check, completes, reservation);
      } finally {
        waitQueues.wake(key);
      }
    },
    clearFailedAttempts: (name) => store.changeState(hashName(name), (held, now) => clearFailures(held, rule, now)),
    // The circuit breaker has logged that Redis is unreachable.
    clearFailedAttemptsAndLock: (name) => store.deleteState(hashName(name)).catch(() => undefined),
    async readStatus(name) {
      try {
        const { states } = await store.findStates([hashName(name)]);
        return readStatus(states[0]!.state, rule, Date.now());
      } catch (error) {
        throw new ApiError('UNAVAILABLE', 'The failed attempts are not known, because Redis cannot be reached', {
          cause: error,
        });
      }
    },
    administration: {
      rule: { maxAttempts, windowMinutes, lockMinutes },
      async find(ids) {
        const { states, isCut } = await store.findStates(ids);
        const now = Date.now();
        const lockouts = states.map(({ key, state }) => ({ id: key, ...readStatus(state, rule, now) }));
        return {
          lockouts: lockouts.filter(({ failures, lockedUntil }) => failures > 0 || lockedUntil !== null),
          isCut,
        };
      },
      idsOf: ({ email, userId }) =>
        [
          ...(email === undefined ? [] : [{ kind: 'sign-in' as const, name: signInLockoutName(email) }]),
          ...(userId === undefined
            ? []
            : [
                { kind: 'password' as const, name: `password:${userId}` },
                { kind: 'code' as const, name: `code:${userId}` },
              ]),
        ].map(({ kind, name }) => ({ kind, id: hashName(name) })),
      async clear(id) {
        try {
          await store.deleteState(id);
        } catch (error) {
          const text = 'The failed attempts could not be cleared, because Redis cannot be reached; try again';
          throw new ApiError('UNAVAILABLE', text, { cause: error });
        }
      },
    },
  };
}

/**
 * Returns the 429 of a locked name. The message names the full duration of a lock, `Retry-After` the remaining time of this one.
 *
 * @param what the start of the message, such as `Too many failed sign-ins`
 */
export function lockedError(what: string, leftMs: number, { auth }: Platform['settings']): ApiError {
  const minutes = Math.ceil(auth.lockout.lockMinutes);
  const text = `${what}, try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
  return new ApiError('RATE_LIMITED', text, { retryAfter: Math.max(1, Math.ceil(leftMs / 1000)) });
}
