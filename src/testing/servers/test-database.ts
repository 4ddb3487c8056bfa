import { createHash, randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { VERSION } from '../../platform/helpers/version.ts';
import type { AssembledApp } from '../../runtime/assemble.ts';
import { readOwnSql } from '../../runtime/migrations/own-sql.ts';
import { computeFingerprint } from '../../runtime/migrations/sync.ts';
import { clockStatements, SEARCH_PATH } from '../clock/database-clock.ts';
import { createDatabaseServer, type DatabaseServer } from './database-server.ts';
import { deleteRedisKeys } from './redis-keys.ts';
import { provideTestServers } from './servers.ts';
import { nameTemplate, nameTestDatabase, provideTemplate } from './template.ts';

/** The variables with which an app connects to a test database. */
type Connection = Record<'DATABASE_URL' | 'REDIS_URL' | 'REDIS_PREFIX', string>;

/** The database and the Redis prefix of one test app. */
export interface AppDatabase {
  connection: Connection;
  /**
   * Creates the database with the tables of an app, as a copy of a template.
   *
   * @param folder the folder of the project's migrations
   * @param createTables creates the tables in the database of a connection, and closes its own connections. Called only if there is no
   *   template yet.
   */
  create(app: AssembledApp, folder: string, createTables: (connection: Connection) => Promise<void>): Promise<void>;
  /** Drops the database and deletes the Redis keys. */
  drop(): Promise<void>;
}

const servers = new Map<string, DatabaseServer>();

/** One access per server and process, because each has a connection. */
function databaseServerAt(url: string): DatabaseServer {
  let server = servers.get(url);
  if (server === undefined) {
    server = createDatabaseServer(url);
    servers.set(url, server);
  }
  return server;
}

/** Prepares an empty database for a test clock. The tables must be created afterwards, because column defaults use the functions. */
async function createClock(server: DatabaseServer, name: string): Promise<void> {
  await server.query(`alter database ${name} set search_path = ${SEARCH_PATH}`);
  const client = new Client({ connectionString: server.addressOf(name) });
  await client.connect();
  try {
    for (const statement of clockStatements(0)) await client.query(statement);
  } finally {
    await client.end();
  }
}

/**
 * Provides the servers, and the names for a database and a Redis prefix on them.
 *
 * @throws Error if a server cannot be reached or started
 */
export async function provideAppDatabase(): Promise<AppDatabase> {
  const { databaseUrl, redisUrl } = await provideTestServers();
  const server = databaseServerAt(databaseUrl);
  const id = randomBytes(5).toString('hex');
  const name = nameTestDatabase(id);
  const connectionTo = (database: string): Connection => ({
    DATABASE_URL: server.addressOf(database),
    REDIS_URL: redisUrl,
    REDIS_PREFIX: `belfry-test-${id}`,
  });
  const connection = connectionTo(name);
  return {
    connection,
    async create(app, folder, createTables) {
      const ownSql = readOwnSql(folder).map(({ hash }) => hash);
      const fingerprint = createHash('sha256')
        .update([VERSION, computeFingerprint(app), ...ownSql].join(' '))
        .digest('hex');
      const template = nameTemplate(fingerprint);
      await provideTemplate(server, databaseUrl, template, async (database) => {
        await createClock(server, database);
        await createTables(connectionTo(database));
      });
      await server.copyDatabase(template, name);
      // A copy does not inherit the settings of its template.
      await server.query(`alter database ${name} set search_path = ${SEARCH_PATH}`);
    },
    async drop() {
      await server.dropDatabase(name);
      await deleteRedisKeys(redisUrl, connection.REDIS_PREFIX);
    },
  };
}
