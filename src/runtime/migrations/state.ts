import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../../platform/data/postgres/database.ts';
import type { Logger } from '../../platform/observability/log.ts';
import { isFrameworkMigration } from './framework.ts';
import type { Migration } from './journal.ts';
import { readMigrations } from './read-migrations.ts';

/** Runs queries and returns rows as objects. */
interface Queryable {
  // biome-ignore lint/suspicious/noExplicitAny: rows are typed by the caller
  query(text: string, values?: unknown[]): Promise<{ rows: any[] }>;
}

/** Which migrations a database has. */
export interface MigrationState {
  applied: Migration[];
  pending: Migration[];
  /** Migrations that were changed after they were applied. */
  edited: Migration[];
  /** The number of applied migrations that this code does not have: newer code has migrated the database. */
  unknown: number;
}

/** Whether migrations were ever applied to the database. */
export async function isMigrated(client: Queryable): Promise<boolean> {
  const { rows } = await client.query(`select to_regclass('drizzle.__drizzle_migrations') is not null as is`);
  return rows[0].is;
}

/** Compares a database with migrations, using the table of drizzle's migrator. */
export async function readMigrationState(client: Queryable, migrations: readonly Migration[]): Promise<MigrationState> {
  const rows: { hash: string; when: string }[] = (await isMigrated(client))
    ? (await client.query(`select hash, created_at::text as when from drizzle.__drizzle_migrations`)).rows
    : [];
  const hashes = new Map(rows.map(({ hash, when }) => [Number(when), hash]));
  const earlier = new Set(migrations.flatMap((migration) => migration.earlier));
  const isApplied = (one: Migration) => hashes.has(one.when) || one.earlier.some((when) => hashes.has(when));
  const known = new Set([...migrations.map(({ when }) => when), ...earlier]);
  return {
    applied: migrations.filter(isApplied),
    pending: migrations.filter((one) => !isApplied(one)),
    edited: migrations.filter(({ when, hash }) => hashes.has(when) && hashes.get(when) !== hash),
    unknown: [...hashes.keys()].filter((when) => !known.has(when)).length,
  };
}

/**
 * Logs a warning if the database has migrations that this code does not know, for example after a deployment was rolled back. That
 * is not an error as long as everything that is declared exists.
 */
export async function warnIfDatabaseIsNewer(database: Database, log: Logger): Promise<void> {
  const folder = join(process.cwd(), 'migrations');
  if (!existsSync(join(folder, 'meta', '_journal.json'))) return;
  try {
    const client: Queryable = {
      async query(text) {
        const rows = await database.write<[object]>({ text: `select to_jsonb(r) from (${text}) r`, values: [] });
        return { rows: rows.map(([row]) => row) };
      },
    };
    const { applied, unknown } = await readMigrationState(client, readMigrations(folder));
    // A database with none of the project's migrations was not created from this folder, for example in tests.
    const isFromFolder = applied.some((migration) => !isFrameworkMigration(migration));
    if (isFromFolder && unknown > 0)
      log.warn(`newer code has migrated the database; migrations unknown to this version: ${unknown}`);
  } catch (error) {
    // The app's database role may lack permission to read the table of migrations. Nothing depends on this check.
    log.warn({ err: error }, 'could not check whether newer code has migrated the database');
  }
}
