import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The template that every test database is copied from. */
    templateDatabase: string;
    /** The prefix of the name of every database of this run. */
    databasePrefix: string;
    /** A folder for the packages that the tests of this run share. */
    packagesFolder: string;
  }
}

/**
 * Creates what the test files of this run share: the template of their databases, and a folder for packages. Returns the function that
 * removes both at the end, which throws if a test file has left a database behind.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const url = process.env.TEST_DATABASE_URL;
  if (!url || !process.env.TEST_REDIS_URL) {
    throw new Error('TEST_DATABASE_URL and TEST_REDIS_URL are not set: run the tests with `npm test`.');
  }
  const run = randomBytes(4).toString('hex');
  const template = `belfry_template_${run}`;
  const prefix = `belfry_test_${run}_`;

  const admin = new Client({ connectionString: url });
  await admin.connect();
  await admin.query(`create database ${template}`);
  const templateUrl = new URL(url);
  templateUrl.pathname = `/${template}`;
  const inside = new Client({ connectionString: templateUrl.href });
  await inside.connect();
  await inside.query('create extension if not exists pg_trgm');
  await inside.end();
  await admin.end();
  project.provide('templateDatabase', template);
  project.provide('databasePrefix', prefix);
  const packagesFolder = mkdtempSync(join(tmpdir(), 'belfry-packages-'));
  project.provide('packagesFolder', packagesFolder);

  return async () => {
    rmSync(packagesFolder, { recursive: true, force: true });
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      const { rows } = await client.query<{ datname: string }>(
        'select datname from pg_database where starts_with(datname, $1) order by datname',
        [prefix],
      );
      for (const { datname } of rows) await client.query(`drop database ${datname} with (force)`);
      await client.query(`drop database ${template} with (force)`);
      if (rows.length)
        throw new Error(`Test databases that were never dropped: ${rows.map((row) => row.datname).join(', ')}`);
    } finally {
      await client.end();
    }
  };
}
