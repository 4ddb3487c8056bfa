import { rmSync } from 'node:fs';
import { Redis } from 'ioredis';
import pg from 'pg';
import { ensurePostgresAccount } from '../../src/dev-servers/postgres-account.ts';
import { startServices } from '../../src/dev-servers/start.ts';
import { createTemporaryFolder } from '../../src/dev-servers/temporary-folder.ts';
import type { Servers } from './environment.ts';

/** Postgres and Redis of one run. */
export interface BenchServices extends Servers {
  /** Their versions, for the results. */
  postgres: string;
  redis: string;
  stop(): Promise<void>;
}

async function describePostgres(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const setting = async (name: string) =>
      (await client.query<{ value: string }>('select current_setting($1) as value', [name])).rows[0]!.value;
    const durabilitySettings = [
      await setting('fsync'),
      await setting('synchronous_commit'),
      await setting('full_page_writes'),
    ];
    // Commits that do not reach the disk are several times as fast, but no deployment runs that way.
    if (durabilitySettings.some((value) => value !== 'on'))
      throw new Error(
        'Postgres does not sync commits to disk, so the figures would mean nothing. Turn fsync, synchronous_commit and full_page_writes on.',
      );
    return `${(await setting('server_version')).split(' ')[0]} (fsync, synchronous_commit and full_page_writes on)`;
  } finally {
    await client.end();
  }
}

async function describeRedis(url: string): Promise<string> {
  const client = new Redis(url);
  try {
    const version = /redis_version:(\S+)/.exec(await client.info('server'))?.[1];
    const [, appendOnly] = (await client.config('GET', 'appendonly')) as string[];
    return `${version} (append-only file ${appendOnly === 'yes' ? 'on, synced every second' : 'off'})`;
  } finally {
    client.disconnect();
  }
}

/**
 * Starts a Postgres and a Redis for one run, as durable as those of a deployment. It never uses services of the environment,
 * since a benchmark writes and deletes at will.
 */
export async function startBenchServices(announce: (line: string) => void): Promise<BenchServices> {
  const dataDir = createTemporaryFolder('bench', ensurePostgresAccount());
  delete process.env.DATABASE_URL;
  delete process.env.REDIS_URL;
  // The services of mode `test` do not sync. Those of mode `dev` do, and their data folder is removed after the run.
  const services = await startServices({ mode: 'dev', dataDir, announce });
  const stop = async () => {
    await services.stop();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const { databaseUrl, redisUrl } = services;
    return {
      databaseUrl,
      redisUrl,
      postgres: await describePostgres(databaseUrl),
      redis: await describeRedis(redisUrl),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
