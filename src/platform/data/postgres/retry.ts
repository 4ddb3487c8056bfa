import { getOrCreateAvailability } from './availability.ts';
import { isClosed, isConcurrencyConflict, isTransient } from './errors.ts';
import type { Executor } from './queryable.ts';

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

const MAX_TRIES = 5;
const PAUSE_MS = 40;

/**
 * Retries a statement or a transaction that conflicted with concurrent ones: up to five times, after a short random pause. A failed attempt
 * must leave no changes behind.
 *
 * @param retry runs a later attempt. Transactions whose statements are sent one by one should retry one after the other: on a slow machine,
 *   each takes longer than the pause, and the same ones conflict again
 */
export async function retryConflicts<T>(run: () => Promise<T>, retry: () => Promise<T> = run): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await (tried === 1 ? run : retry)();
    } catch (error) {
      if (tried === MAX_TRIES || !isConcurrencyConflict(error)) throw error;
      await sleep(Math.random() * tried * PAUSE_MS);
    }
  }
}

/**
 * ms between attempts to store the result of finished work while Postgres is available but the statement fails, for example because its
 * connection was lost or it waited too long for a lock. After the last one, the lease of the work expires, and the work is done again.
 */
const STORE_RETRY_MS: readonly number[] = [100, 500, 1000, 3000, 10_000];

/**
 * Retries a statement while Postgres is unavailable, however long that takes, and runs it as soon as Postgres is back. Use it to claim
 * work and to store results, so that work is neither delayed nor repeated only because Postgres was down for a while.
 *
 * @throws the error of the last attempt, if the statement keeps failing while Postgres is available, or if the process stops
 */
export async function retryWhileUnavailable<T>(database: Executor, run: () => Promise<T>): Promise<T> {
  const availability = getOrCreateAvailability(database);
  for (let failed = 0; ; ) {
    try {
      return await run();
    } catch (error) {
      if (!isTransient(error) || isClosed(error) || availability.hasGivenUp()) throw error;
      if (await availability.isAvailable()) {
        const pause = STORE_RETRY_MS[failed++];
        if (pause === undefined) throw error;
        await sleep(pause);
      } else {
        await availability.waitUntilAvailable();
      }
    }
  }
}
