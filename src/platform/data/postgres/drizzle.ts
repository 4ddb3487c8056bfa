import { createRequire } from 'node:module';
import type * as Drizzle from 'drizzle-orm';
import type * as PgCore from 'drizzle-orm/pg-core';

// Load the CommonJS build: for each of the hundred modules of the ESM build, Node would read drizzle's package.json (180 KB) again,
// half a second at every start. Tables created with one build work with the other.
const requireCommonJs = createRequire(import.meta.url);
const core = requireCommonJs('drizzle-orm/pg-core') as typeof PgCore;

/** The builders for table declarations: https://orm.drizzle.team/docs/sql-schema-declaration */
export const {
  bigint,
  boolean,
  customType,
  foreignKey,
  getTableConfig,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} = core;

/** A `timestamptz` column to the millisecond, read as ISO 8601 text. */
export const timestamptz = (name: string) => core.timestamp(name, { withTimezone: true, precision: 3, mode: 'string' });

const { is, sql: sqlTag, SQL: Expression, StringChunk } = requireCommonJs('drizzle-orm') as typeof Drizzle;

/** A piece of SQL in a table declaration. */
export const sql = sqlTag;

/** Returns what an index term covers: the name of a column, or the text of a raw SQL expression. */
export function readExpression(term: unknown): string {
  if (!is(term, Expression)) return (term as PgCore.IndexedColumn).name ?? '';
  return term.queryChunks.map((chunk) => (is(chunk, StringChunk) ? chunk.value.join('') : '')).join('');
}

/** Whether a value is a Drizzle table. */
export function isTable(value: unknown): value is PgCore.PgTable {
  return is(value, core.PgTable);
}

const partitionColumns = new WeakMap<PgCore.PgTable, string>();

/**
 * Declares that a table is partitioned by day. Migrations create the table with a default partition only; `createPartitionSweep` creates
 * the partition of each day and drops old ones.
 *
 * @param column the column that decides the day, in UTC, of type `timestamptz`
 */
export function partitionByDay<Table extends PgCore.PgTable>(table: Table, column: string): Table {
  partitionColumns.set(table, column);
  return table;
}

/** Returns the column by which a table is partitioned by day; undefined if the table is not partitioned. */
export function findPartitionColumn(table: PgCore.PgTable): string | undefined {
  return partitionColumns.get(table);
}

const storageSettings = new WeakMap<PgCore.PgTable, string>();

/**
 * Declares that most rows of a table are changed or deleted soon after they are written: vacuum runs when 2% of the table have changed, instead
 * of a fifth. Only `sync` applies this, and it never resets a parameter. drizzle-kit cannot describe it, so the migration needs the same
 * `ALTER TABLE … SET`.
 *
 * @param settings further storage parameters: https://www.postgresql.org/docs/current/sql-createtable.html#SQL-CREATETABLE-STORAGE-PARAMETERS.
 *   `fillfactor`: how full new pages become, in percent; the rest is room for new versions of their rows, so that updates which change no
 *   indexed column add no index entries
 */
export function vacuumOften<Table extends PgCore.PgTable>(
  table: Table,
  settings: { fillfactor?: number; vacuum_truncate?: boolean } = {},
): Table {
  const all = {
    ...settings,
    autovacuum_vacuum_scale_factor: 0.02,
    autovacuum_vacuum_threshold: 1000,
    autovacuum_vacuum_cost_delay: 1,
  };
  const text = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
  storageSettings.set(table, text.join(', '));
  return table;
}

/** Returns the storage parameters of a table as SQL; undefined if they are the defaults of Postgres. */
export function findStorageSettings(table: PgCore.PgTable): string | undefined {
  return storageSettings.get(table);
}
