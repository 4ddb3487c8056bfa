import { setTimeout as sleep } from 'node:timers/promises';
import { isUnavailable } from './errors.ts';

/**
 * Runs a statement, and again after each pause while Postgres is away: for what must not be done again for want of a stored result.
 *
 * @param pausesMs between the tries; after the last one its error is the caller's
 */
export async function retryWhileUnavailable<T>(run: () => Promise<T>, pausesMs: readonly number[]): Promise<T> {
  for (const pause of pausesMs) {
    try {
      return await run();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      await sleep(pause);
    }
  }
  return run();
}
