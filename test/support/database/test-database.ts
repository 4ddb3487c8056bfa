import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { createDatabaseServer } from '../../../src/testing/servers/database-server.ts';
import { deleteRedisKeys } from '../../../src/testing/servers/redis-keys.ts';

/** The address of the PgBouncer in front of the test server, if all apps of this run connect through one (TEST_POOLER). */
const poolerUrl = process.env.TEST_POOLER_URL ?? '';

export interface TestDatabase {
  /** The database of this test file, without tables. */
  databaseUrl: string;
  /** The variables with which an app connects to the database: through the pooler of the run, if there is one. */
  appVariables: { DATABASE_URL: string; DATABASE_DIRECT_URL?: string };
  redisUrl: string;
  /** The prefix of every Redis key of this test file. */
  redisPrefix: string;
  /** Removes the database and the keys. Throws, naming the sessions, if anything is still connected to the database. */
  drop(): Promise<void>;
}

const server = createDatabaseServer(process.env.TEST_DATABASE_URL ?? '');
const redisUrl = process.env.TEST_REDIS_URL ?? '';

/** Creates a database from the run's template, and a Redis prefix, for one test file. Call `drop` when it is done. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const id = randomBytes(5).toString('hex');
  const name = `${inject('databasePrefix')}${id}`;
  const redisPrefix = `belfry-test-${id}`;
  await server.copyDatabase(inject('templateDatabase'), name);
  const url = server.addressOf(name);
  return {
    databaseUrl: url,
    appVariables:
      poolerUrl === ''
        ? { DATABASE_URL: url }
        : { DATABASE_URL: new URL(`/${name}`, poolerUrl).href, DATABASE_DIRECT_URL: url },
    redisUrl,
    redisPrefix,
    async drop() {
      // A pooler keeps its sessions when the app has closed its own.
      const openSessions = await server.dropDatabase(name, poolerUrl !== '');
      await deleteRedisKeys(redisUrl, redisPrefix);
      if (openSessions.length === 0) return;
      throw new Error(
        `${openSessions.length} sessions were still connected to ${name}; close the app first:\n  ${openSessions.join('\n  ')}`,
      );
    },
  };
}
