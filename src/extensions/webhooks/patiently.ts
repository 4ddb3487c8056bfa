import { setTimeout as sleep } from 'node:timers/promises';
import { isUnavailable } from '../../platform/postgres/errors.ts';

const AGAIN_MS = [100, 1000];

/** Runs a statement, and twice more while Postgres is away: what was sent and is not written is sent again, which is worth the wait. */
export async function patiently<T>(statement: () => Promise<T>, tried = 0): Promise<T> {
  try {
    return await statement();
  } catch (error) {
    const wait = AGAIN_MS[tried];
    if (wait === undefined || !isUnavailable(error)) throw error;
    await sleep(wait);
    return patiently(statement, tried + 1);
  }
}
