import { setTimeout as sleep } from 'node:timers/promises';
import { isConcurrencyConflict, isTransient } from './errors.ts';

const MAX_TRIES = 5;
const PAUSE_MS = 40;

/**
 * Retries a statement that conflicted with concurrent statements: up to five times, after a short random pause. Use it only for a
 * statement that is a transaction of its own, because a failed attempt must leave no changes behind.
 */
export async function retryConflicts<T>(run: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await run();
    } catch (error) {
      if (tried === MAX_TRIES || !isConcurrencyConflict(error)) throw error;
      await sleep(Math.random() * tried * PAUSE_MS);
    }
  }
}

/**
 * Retries a statement while Postgres is unavailable, after each pause of a list. Use it to store the result of work, so that the work is
 * not repeated only because its result could not be stored.
 *
 * @param pausesMs the pauses between attempts; the error of the last attempt is thrown
 */
export async function retryWhileUnavailable<T>(run: () => Promise<T>, pausesMs: readonly number[]): Promise<T> {
  for (const pause of pausesMs) {
    try {
      return await run();
    } catch (error) {
      if (!isTransient(error)) throw error;
      await sleep(pause);
    }
  }
  return run();
}
