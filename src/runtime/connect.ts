import { setTimeout as sleep } from 'node:timers/promises';
import { StartupError } from '../platform/environment.ts';
import type { Platform } from '../platform/platform.ts';

const ATTEMPTS = 5;
const FIRST_WAIT_MS = 500;

async function insist(
  what: string,
  attempt: () => Promise<unknown>,
  log: Platform['log'],
): Promise<string | undefined> {
  for (let tried = 1; ; tried++) {
    try {
      await attempt();
      return undefined;
    } catch (error) {
      const reason =
        error instanceof Error ? error.message || String((error as NodeJS.ErrnoException).code) : String(error);
      if (tried === ATTEMPTS) return `${what} can not be reached: ${reason}`;
      const wait = FIRST_WAIT_MS * 2 ** (tried - 1);
      log.warn(`${what} can not be reached (${reason}); trying again in ${wait} ms (${tried} of ${ATTEMPTS})`);
      await sleep(wait);
    }
  }
}

/** `host:port` of a server URL: what may be said of it, without its password. */
function place(url: string): string {
  return new URL(url).host;
}

/**
 * Waits for Postgres and Redis, a few times.
 *
 * @throws StartupError naming each that can't be reached
 */
export async function connect({ env, database, redis, log }: Platform): Promise<void> {
  const faults = await Promise.all([
    insist(`Postgres at ${place(env.databaseUrl)}`, () => database.write({ text: 'select 1', values: [] }), log),
    insist(
      `Redis at ${place(env.redisUrl)}`,
      async () => {
        if (redis.commands.status === 'wait' || redis.commands.status === 'end') await redis.commands.connect();
        await redis.commands.ping();
      },
      log,
    ),
  ]);
  const found = faults.filter((fault) => fault !== undefined);
  if (found.length > 0) throw new StartupError('The app can not start:', found);
}
