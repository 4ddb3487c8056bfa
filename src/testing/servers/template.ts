import { Client } from 'pg';
import type { DatabaseServer } from './database-server.ts';

/** The start of the names of the databases that tests create. */
const TEST_DATABASE_PREFIX = 'belfry_app_test_';
const TEMPLATE_PREFIX = 'belfry_app_template_';

/** s after which a test database or template counts as left behind by a killed process. */
const LEFTOVER_AGE_S = 86_400;

const nowInSeconds = () => Math.floor((performance.timeOrigin + performance.now()) / 1000);

/** Returns the name of the template with a schema. @param fingerprint distinguishes the schema from all others */
export function nameTemplate(fingerprint: string): string {
  return `${TEMPLATE_PREFIX}${fingerprint.slice(0, 24)}`;
}

/** Returns the name of a new test database. It contains the time, so that a later run can tell how old it is. */
export function nameTestDatabase(id: string): string {
  return `${TEST_DATABASE_PREFIX}${nowInSeconds()}_${id}`;
}

const LIST = `
  select d.datname as name, coalesce(shobj_description(d.oid, 'pg_database'), '') as created
    from pg_database d where starts_with(d.datname, $1) or starts_with(d.datname, $2)`;

/** Drops the test databases and templates that earlier runs left behind. */
async function dropLeftovers({ query }: DatabaseServer): Promise<void> {
  for (const { name, created } of await query<{ name: string; created: string }>(LIST, [
    TEST_DATABASE_PREFIX,
    TEMPLATE_PREFIX,
  ])) {
    const at = Number(
      name.startsWith(TEMPLATE_PREFIX) ? created : name.slice(TEST_DATABASE_PREFIX.length).split('_')[0],
    );
    if (at > 0 && nowInSeconds() - at > LEFTOVER_AGE_S)
      await query(`drop database if exists ${name} with (force)`).catch(() => undefined);
  }
}

/** Runs work while no other process creates a template with this name on this server. */
async function withTemplateLock<T>(url: string, name: string, work: () => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [name]);
    return await work();
  } finally {
    await client.end();
  }
}

/**
 * Provides a template. All processes that use the server share it, so only the first one creates tables.
 *
 * @param name as `nameTemplate` returns it; a template with another name is not dropped as a leftover
 * @param createTables creates the tables in the new database with this name, and closes its connections
 */
export async function provideTemplate(
  server: DatabaseServer,
  serverUrl: string,
  name: string,
  createTables: (database: string) => Promise<void>,
): Promise<void> {
  const exists = async () => (await server.query('select from pg_database where datname = $1', [name])).length > 0;
  if (await exists()) return;
  await withTemplateLock(serverUrl, name, async () => {
    if (await exists()) return;
    await dropLeftovers(server);
    // The template gets its name when it is complete, because a killed process may leave it half finished.
    const incomplete = `${name}_incomplete`;
    await server.query(`drop database if exists ${incomplete} with (force)`);
    await server.query(`create database ${incomplete}`);
    await server.query(`comment on database ${incomplete} is '${nowInSeconds()}'`);
    await createTables(incomplete);
    await server.query(`alter database ${incomplete} rename to ${name}`);
  });
}
