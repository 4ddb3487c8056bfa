import { isDockerRunning, startPostgresContainer, startRedisContainer } from './containers.ts';
import { ensureDatabase } from './ping.ts';
import { startPostgres } from './postgres.ts';
import { startRedis } from './redis.ts';
import type { Service } from './server.ts';
import { removeStaleTemporaryFolders } from './temporary-folder.ts';

export interface ServicesSettings {
  /** 'dev' keeps data in `dataDir`; 'test' removes all data at the end. */
  mode: 'dev' | 'test';
  dataDir?: string;
  /** In mode 'test', Postgres keeps its data in memory if there is enough. */
  inMemory?: boolean;
  /** Prints a line. */
  announce: (line: string) => void;
}

export interface Services {
  databaseUrl: string;
  redisUrl: string;
  /** Stops the services that were started here. Resolves when they are gone. */
  stop(): Promise<void>;
  /** Lets this process end while the services run. Those that were started here then stop with this process. */
  unref(): void;
}

/** Returns a URL without its password, for the terminal. */
function removePassword(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed) return 'an address that is not a URL';
  return `${parsed.host}${parsed.pathname}`;
}

async function tryContainer(name: string, start: () => Promise<Service>, announce: (line: string) => void) {
  try {
    return await start();
  } catch (error) {
    announce(`${name}: Docker is running, but no container could be started (${(error as Error).message}).`);
    return undefined;
  }
}

/**
 * Provides Postgres and Redis. It uses those of the environment (DATABASE_URL and REDIS_URL; TEST_DATABASE_URL and
 * TEST_REDIS_URL in mode 'test'), or containers if a Docker engine responds, or starts servers of its own. Prints a line for
 * each. In mode 'dev' the address names a database `belfry`, in mode 'test' the maintenance database of a superuser.
 * Services that were started here die with this process. Throws if a service cannot be provided.
 */
export async function startServices({ mode, dataDir, inMemory, announce }: ServicesSettings): Promise<Services> {
  if (mode === 'dev' && dataDir === undefined) throw new Error('startServices: mode "dev" needs a dataDir.');
  const persistentDataDir = mode === 'dev' ? dataDir : undefined;
  const prefix = mode === 'test' ? 'TEST_' : '';
  const configuredUrls = { postgres: process.env[`${prefix}DATABASE_URL`], redis: process.env[`${prefix}REDIS_URL`] };
  const docker = configuredUrls.postgres && configuredUrls.redis ? false : await isDockerRunning();
  await removeStaleTemporaryFolders();

  const provideService = async (
    name: string,
    variable: string,
    url: string | undefined,
    container: () => Promise<Service>,
    server: () => Promise<Service>,
  ): Promise<Service> => {
    const service: Service = url
      ? { url, from: `${variable} (${removePassword(url)})`, stop: async () => {} }
      : ((docker ? await tryContainer(name, container, announce) : undefined) ?? (await server()));
    announce(`${name}: ${service.from}`);
    return service;
  };
  const starting = [
    provideService(
      'Postgres',
      `${prefix}DATABASE_URL`,
      configuredUrls.postgres,
      () => startPostgresContainer(persistentDataDir),
      () => startPostgres(persistentDataDir, inMemory),
    ),
    provideService(
      'Redis',
      `${prefix}REDIS_URL`,
      configuredUrls.redis,
      () => startRedisContainer(persistentDataDir),
      () => startRedis(persistentDataDir, announce),
    ),
  ] as const;
  const settled = await Promise.allSettled(starting);
  const stop = async () => {
    await Promise.all(settled.map((each) => (each.status === 'fulfilled' ? each.value.stop() : undefined)));
  };
  try {
    const [postgres, redis] = await Promise.all(starting);
    if (persistentDataDir && !configuredUrls.postgres) await ensureDatabase(postgres.url);
    const unref = () => {
      postgres.unref?.();
      redis.unref?.();
    };
    return { databaseUrl: postgres.url, redisUrl: redis.url, stop, unref };
  } catch (error) {
    await stop();
    throw error;
  }
}
