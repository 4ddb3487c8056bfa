import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { inject } from 'vitest';

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

const TEMPLATE_BUSY = '55006';
const databaseServer = process.env.TEST_DATABASE_URL ?? '';
const redisUrl = process.env.TEST_REDIS_URL ?? '';

let adminConnection: Promise<Client> | undefined;

/** One connection to the server per process: a connection for each create and drop would cost as much as the work itself. */
function connectAsAdmin(): Promise<Client> {
  adminConnection ??= (async () => {
    const client = new Client({ connectionString: databaseServer });
    client.on('error', () => {
      adminConnection = undefined;
    });
    await client.connect();
    // Does not keep the process alive. (The library has `unref`; its types do not.)
    (client as Client & { unref(): void }).unref();
    return client;
  })();
  return adminConnection;
}

interface Session {
  pid: number;
  application: string;
  state: string;
  query: string;
}

/** The sessions still connected to a database. A session that was just closed needs a moment to end, so this waits up to 2 seconds. */
async function waitForSessionsToEnd(client: Client, database: string): Promise<Session[]> {
  for (const end = Date.now() + 2000; ; await sleep(20)) {
    const { rows } = await client.query<Session>(
      `select pid, application_name as application, coalesce(state, '') as state, left(query, 80) as query
         from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
      [database],
    );
    if (!rows.length || Date.now() > end) return rows;
  }
}

async function deleteRedisKeys(prefix: string): Promise<void> {
  const redis = new Redis(redisUrl);
  try {
    // The leading star also finds keys whose prefix is in braces (a hash tag).
    for await (const keys of redis.scanStream({ match: `*${prefix}*`, count: 1000 })) {
      if (keys.length) await redis.unlink(...keys);
    }
  } finally {
    redis.disconnect();
  }
}

async function copyTemplate(name: string): Promise<void> {
  const client = await connectAsAdmin();
  for (let attempt = 1; ; attempt++) {
    try {
      await client.query(`create database ${name} template ${inject('templateDatabase')}`);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== TEMPLATE_BUSY || attempt === 100) throw error;
      await sleep(50);
    }
  }
}

/** Creates a database from the run's template, and a Redis prefix, for one test file. Call `drop` when it is done. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const id = randomBytes(5).toString('hex');
  const name = `${inject('databasePrefix')}${id}`;
  const redisPrefix = `belfry-test-${id}`;
  await copyTemplate(name);
  const url = new URL(databaseServer);
  url.pathname = `/${name}`;
  return {
    databaseUrl: url.href,
    appVariables:
      poolerUrl === ''
        ? { DATABASE_URL: url.href }
        : { DATABASE_URL: new URL(`/${name}`, poolerUrl).href, DATABASE_DIRECT_URL: url.href },
    redisUrl,
    redisPrefix,
    async drop() {
      const client = await connectAsAdmin();
      // A pooler keeps its sessions when the app has closed its own.
      const openSessions = poolerUrl === '' ? await waitForSessionsToEnd(client, name) : [];
      await client.query(`drop database if exists ${name} with (force)`);
      await deleteRedisKeys(redisPrefix);
      if (!openSessions.length) return;
      const lines = openSessions.map((each) => `  pid ${each.pid} ${each.application} (${each.state}): ${each.query}`);
      throw new Error(
        `${openSessions.length} sessions were still connected to ${name}; close the app first:\n${lines.join('\n')}`,
      );
    },
  };
}
