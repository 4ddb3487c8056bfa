import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { type Migration, readMigrations } from './journal.ts';

/** Something that runs a query and gives its rows as objects. */
export interface Queryable {
  // biome-ignore lint/suspicious/noExplicitAny: rows are typed by the caller
  query(text: string, values?: unknown[]): Promise<{ rows: any[] }>;
}

/** What a database has of a folder of migrations. */
export interface MigrationState {
  applied: Migration[];
  pending: Migration[];
  /** Applied, and changed since. */
  edited: Migration[];
  /** How many the database has that the folder does not know: it was migrated by newer code. */
  unknown: number;
}

/** Whether the database was ever migrated. */
export async function isMigrated(client: Queryable): Promise<boolean> {
  const { rows } = await client.query(`select to_regclass('drizzle.__drizzle_migrations') is not null as is`);
  return rows[0].is;
}

/** Compares a database with a folder of migrations, by the table that drizzle's migrator keeps. */
export async function migrationState(client: Queryable, migrations: readonly Migration[]): Promise<MigrationState> {
  const rows: { hash: string; when: string }[] = (await isMigrated(client))
    ? (await client.query(`select hash, created_at::text as when from drizzle.__drizzle_migrations`)).rows
    : [];
  const hashes = new Map(rows.map(({ hash, when }) => [Number(when), hash]));
  const earlier = new Set(migrations.flatMap((migration) => migration.earlier));
  const has = (one: Migration) => hashes.has(one.when) || one.earlier.some((when) => hashes.has(when));
  const known = new Set([...migrations.map(({ when }) => when), ...earlier]);
  return {
    applied: migrations.filter(has),
    pending: migrations.filter((one) => !has(one)),
    edited: migrations.filter(({ when, hash }) => hashes.has(when) && hashes.get(when) !== hash),
    unknown: [...hashes.keys()].filter((when) => !known.has(when)).length,
  };
}

/**
 * Says in the log that the database has migrations that this code does not know, as after a deploy that was taken back. It
 * is no error as long as everything that is declared exists.
 */
export async function warnIfAhead(database: Database, log: Logger): Promise<void> {
  const folder = join(process.cwd(), 'migrations');
  if (!existsSync(join(folder, 'meta', '_journal.json'))) return;
  try {
    const { applied, unknown } = await migrationState(database.pool, readMigrations(folder));
    // A database with none of these migrations is that of something else, as in tests.
    if (applied.length > 0 && unknown > 0)
      log.warn(`the database is ahead of this code, which does not know ${unknown} of its migrations`);
  } catch (error) {
    // The role of the app may have no right to look: nothing depends on it.
    log.warn({ err: error }, 'could not find out whether the database is ahead of this code');
  }
}
