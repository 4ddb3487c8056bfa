import { pingPostgres, pingRedis } from '../../dev-servers/ping.ts';
import { startServices } from '../../dev-servers/start.ts';

/** The addresses of the servers that tests use. */
interface TestServers {
  /** The address of a superuser. */
  databaseUrl: string;
  redisUrl: string;
}

const PROCESS_KEY = Symbol.for('belfry.testing.servers');

/** A test runner may load this module several times in one process, so the servers are stored in the process. */
type ProcessWithServers = typeof globalThis & { [PROCESS_KEY]?: Promise<TestServers> };

const UNREACHABLE_HINT =
  'Start the server or correct the address. Without the variable, tests start a server of their own.';

/** @throws Error naming the variable if the server at this address does not respond */
async function assertReachable(variable: string, url: string | undefined, ping: (url: string) => Promise<void>) {
  if (!url) return;
  try {
    await ping(url);
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    throw new Error(
      `${variable}: no response from ${URL.parse(url)?.host ?? url} (${message || code}). ${UNREACHABLE_HINT}`,
    );
  }
}

async function startTestServers(): Promise<TestServers> {
  const { TEST_DATABASE_URL, TEST_REDIS_URL } = process.env;
  await Promise.all([
    assertReachable('TEST_DATABASE_URL', TEST_DATABASE_URL, pingPostgres),
    assertReachable('TEST_REDIS_URL', TEST_REDIS_URL, pingRedis),
  ]);
  const lines: string[] = [];
  try {
    const services = await startServices({ mode: 'test', inMemory: true, announce: (line) => lines.push(line) });
    // The servers end with this process. They must not keep it alive, because nobody knows which test is the last one.
    services.unref();
    return services;
  } catch (error) {
    throw new Error(`The tests have no Postgres or no Redis. ${[(error as Error).message, ...lines].join('\n')}`);
  }
}

/**
 * Returns the Postgres and Redis for tests: those of TEST_DATABASE_URL and TEST_REDIS_URL, or throw-away servers that are started at the
 * first call of the process and stop with it.
 *
 * @throws Error if a server cannot be reached or started
 */
export function provideTestServers(): Promise<TestServers> {
  const store = globalThis as ProcessWithServers;
  store[PROCESS_KEY] ??= startTestServers();
  return store[PROCESS_KEY];
}
