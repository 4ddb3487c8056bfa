import type { Migration } from './journal.ts';

/** Something that runs a query and gives its rows as objects. */
export interface Queryable {
  // biome-ignore lint/suspicious/noExplicitAny: rows are typed by who asks
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
