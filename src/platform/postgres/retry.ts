import { setTimeout as sleep } from 'node:timers/promises';
import { isContended } from './errors.ts';

const MAX_TRIES = 5;
const PAUSE_MS = 40;

/**
 * Runs a statement again when others were in its way: a few times, after a short pause that is never the same. Only for one that is
 * a transaction of its own, of which nothing is left when it fails.
 */
export async function retried<T>(run: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await run();
    } catch (error) {
      if (tried === MAX_TRIES || !isContended(error)) throw error;
      await sleep(Math.random() * tried * PAUSE_MS);
    }
  }
}
