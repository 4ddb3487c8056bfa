import { setTimeout as sleep } from 'node:timers/promises';
import { isContended, isTransient } from './errors.ts';

const MAX_TRIES = 5;
const PAUSE_MS = 40;

/**
 * Runs a statement again when concurrent statements were in its way: up to five times, after a short random pause. Only for a statement
 * that is a transaction of its own, so that nothing of it is left when it fails.
 */
export async function retryContended<T>(run: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await run();
    } catch (error) {
      if (tried === MAX_TRIES || !isContended(error)) throw error;
      await sleep(Math.random() * tried * PAUSE_MS);
    }
  }
}

/**
 * Runs a statement again after each pause while Postgres does not answer: for the result of work that must not be done twice only because
 * its result could not be stored.
 *
 * @param pausesMs between the tries; the error of the last try is thrown
 */
export async function retryTransient<T>(run: () => Promise<T>, pausesMs: readonly number[]): Promise<T> {
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
