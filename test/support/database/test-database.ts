import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { AssembledApp } from '../../../src/runtime/assemble.ts';
import { migrateDatabase } from '../../../src/runtime/migrations/migrate.ts';
import { computeFingerprint } from '../../../src/runtime/migrations/sync.ts';
import { createDatabaseServer } from '../../../src/testing/servers/database-server.ts';
import { deleteRedisKeys } from '../../../src/testing/servers/redis-keys.ts';
import { provideTemplate } from '../../../src/testing/servers/template.ts';

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

const serverUrl = process.env.TEST_DATABASE_URL ?? '';
const server = createDatabaseServer(serverUrl);
const redisUrl = process.env.TEST_REDIS_URL ?? '';

/** The databases of this run (scripts/test/run-databases.ts). */
const TEMPLATE = process.env.TEST_TEMPLATE ?? '';
const PREFIX = process.env.TEST_DATABASE_PREFIX ?? '';

/** The addresses of a database that does not exist yet. An app is created with them, and its tables are then known. */
export interface PlannedDatabase extends TestDatabase {
  /** Creates the database without tables. */
  create(): Promise<void>;
  /** Creates the database with the tables of an app. The second app of a run with the same tables creates a template, which later ones copy. */
  createWithTables(app: AssembledApp): Promise<void>;
}

/** Creates a database from the run's template, and a Redis prefix, for one test file. Call `drop` when it is done. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const database = planTestDatabase();
  await database.create();
  return database;
}

/** Whether no app of this run had these tables before. Most sets of tables occur once, and a template for each would take gigabytes. */
function isFirstWith(fingerprint: string): boolean {
  // The folder for temporary files belongs to the run.
  const folder = join(tmpdir(), 'belfry-tables');
  mkdirSync(folder, { recursive: true });
  try {
    writeFileSync(join(folder, fingerprint), '', { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

async function createTables(database: string, { tables, declared, platform }: AssembledApp): Promise<void> {
  const client = new Client({ connectionString: server.addressOf(database) });
  await client.connect();
  try {
    await migrateDatabase(client, { tables, declared }, { mode: 'sync' }, platform.log);
  } finally {
    await client.end();
  }
}

/** Plans a database, and a Redis prefix, for one app. Call `drop` when it is done. */
export function planTestDatabase(): PlannedDatabase {
  const { name, database } = planDatabase();
  const create = () => server.copyDatabase(TEMPLATE, name);
  return {
    ...database,
    create,
    async createWithTables(app) {
      const fingerprint = computeFingerprint(app).slice(0, 24);
      if (isFirstWith(fingerprint)) {
        await create();
        await createTables(name, app);
        return;
      }
      const template = `${TEMPLATE}_${fingerprint}`;
      await provideTemplate(server, serverUrl, template, (empty) => createTables(empty, app));
      await server.copyDatabase(template, name);
    },
  };
}

function planDatabase(): { name: string; database: TestDatabase } {
  const id = randomBytes(5).toString('hex');
  const name = `${PREFIX}${id}`;
  const redisPrefix = `belfry-test-${id}`;
  const url = server.addressOf(name);
  const database: TestDatabase = {
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
  return { name, database };
}
