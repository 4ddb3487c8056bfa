import { randomBytes } from 'node:crypto';
import { Client } from 'pg';

/** The databases of one run of the tests. */
export interface RunDatabases {
  /** The database without tables that tests copy. The templates with tables are named after it. */
  template: string;
  /** The start of the name of every database that a test creates. */
  prefix: string;
  /** Drops all databases of the run if the server is kept. Returns the names of those that a test file has left behind. */
  finish(): Promise<string[]>;
}

async function query<Row extends object>(url: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/**
 * Creates the database that all databases of a run are copied from.
 *
 * @param serverUrl the address of a superuser
 * @param isServerKept whether the server goes on after the run
 */
export async function createRunDatabases(serverUrl: string, isServerKept: boolean): Promise<RunDatabases> {
  const run = randomBytes(4).toString('hex');
  const template = `belfry_template_${run}`;
  const prefix = `belfry_test_${run}_`;
  await query(serverUrl, `create database ${template}`);
  const templateUrl = new URL(serverUrl);
  templateUrl.pathname = `/${template}`;
  await query(templateUrl.href, 'create extension if not exists pg_trgm');
  return {
    template,
    prefix,
    async finish() {
      const rows = await query<{ datname: string }>(
        serverUrl,
        'select datname from pg_database where starts_with(datname, $1) or starts_with(datname, $2) order by datname',
        [prefix, template],
      );
      const names = rows.map(({ datname }) => datname);
      // Dropping hundreds of templates takes seconds, and a throw-away server vanishes as a whole.
      if (isServerKept) for (const name of names) await query(serverUrl, `drop database ${name} with (force)`);
      return names.filter((name) => name.startsWith(prefix));
    },
  };
}
