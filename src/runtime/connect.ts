import { setTimeout as sleep } from 'node:timers/promises';
import { StartupError } from '../platform/environment.ts';
import type { Platform } from '../platform/platform.ts';
import { isTooSlow, isTransient } from '../platform/postgres/errors.ts';

const ATTEMPTS = 5;
const FIRST_WAIT_MS = 500;

async function retrying(
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
      if (tried === ATTEMPTS) return `${what} cannot be reached: ${reason}`;
      const wait = FIRST_WAIT_MS * 2 ** (tried - 1);
      log.warn(`${what} cannot be reached (${reason}); trying again in ${wait} ms (${tried} of ${ATTEMPTS})`);
      await sleep(wait);
    }
  }
}

/** `host:port` of a server URL: what may be said of it, without its password. */
function place(url: string): string {
  return new URL(url).host;
}

function postgresFault({ env, database, log }: Platform): Promise<string | undefined> {
  const ask = () => database.write({ text: 'select 1', values: [] });
  return retrying(`Postgres at ${place(env.databaseUrl)}`, ask, log);
}

function redisFault({ env, redis, log }: Platform): Promise<string | undefined> {
  const ask = async () => {
    const { commands } = redis;
    try {
      if (commands.status === 'wait' || commands.status === 'end') await commands.connect();
      await commands.ping();
    } catch (error) {
      // What a command says of a closed connection is the library's word; the connection knows why it is closed.
      throw redis.lastFault() ?? error;
    }
  };
  return retrying(`Redis at ${place(env.redisUrl)}`, ask, log);
}

function fail(faults: readonly (string | undefined)[]): void {
  const found = faults.filter((fault) => fault !== undefined);
  if (found.length > 0) throw new StartupError('The app cannot start:', found);
}

/**
 * Waits until all is reached, and does the work. When Postgres goes away in the middle, as for a restart, it waits again and begins the
 * work anew: a process that ended instead would be started again by its platform, but each time later.
 */
async function prepared<T>(platform: Platform, reach: () => Promise<void>, work: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    await reach();
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || isTooSlow(error)) throw error;
      const fault = `Postgres at ${place(platform.env.databaseUrl)} went away in the middle: ${(error as Error).message}`;
      if (tried === ATTEMPTS) fail([fault]);
      platform.log.warn(`${fault}; beginning anew (${tried} of ${ATTEMPTS})`);
    }
  }
}

/**
 * Waits for Postgres, a few times, and does work with it that may be begun anew when Postgres goes away in the middle.
 *
 * @throws StartupError when it cannot be reached
 */
export function withPostgres<T>(platform: Platform, work: () => Promise<T>): Promise<T> {
  return prepared(platform, async () => fail([await postgresFault(platform)]), work);
}

/**
 * The same with Postgres and Redis.
 *
 * @throws StartupError naming each that cannot be reached
 */
export function withStores<T>(platform: Platform, work: () => Promise<T>): Promise<T> {
  const reach = async () => fail(await Promise.all([postgresFault(platform), redisFault(platform)]));
  return prepared(platform, reach, work);
}
