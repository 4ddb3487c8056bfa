import { setTimeout as sleep } from 'node:timers/promises';
import { StartupError } from '../platform/environment.ts';
import type { Platform } from '../platform/platform.ts';

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
 * Waits for Postgres, a few times.
 *
 * @throws StartupError when it cannot be reached
 */
export async function connectPostgres(platform: Platform): Promise<void> {
  fail([await postgresFault(platform)]);
}

/**
 * Waits for Postgres and Redis, a few times.
 *
 * @throws StartupError naming each that cannot be reached
 */
export async function connect(platform: Platform): Promise<void> {
  fail(await Promise.all([postgresFault(platform), redisFault(platform)]));
}
