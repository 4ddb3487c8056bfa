import { createRequire } from 'node:module';
import type * as Drizzle from 'drizzle-orm';
import type * as PgCore from 'drizzle-orm/pg-core';

// The CommonJS build: for each of the hundred modules of the other one Node reads drizzle's package.json (180 KB) anew,
// half a second of every start. Tables made with either build are the same to both.
const load = createRequire(import.meta.url);
const core = load('drizzle-orm/pg-core') as typeof PgCore;

/** What tables are declared with: https://orm.drizzle.team/docs/sql-schema-declaration */
export const {
  bigint,
  boolean,
  customType,
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

const { is, sql: sqlTag, SQL: Expression, StringChunk } = load('drizzle-orm') as typeof Drizzle;

/** A piece of SQL in a declaration of a table. */
export const sql = sqlTag;

/** What an index is over: the name of a column, or the text of an expression that was given as raw SQL. */
export function expressionOf(term: unknown): string {
  if (!is(term, Expression)) return (term as PgCore.IndexedColumn).name ?? '';
  return term.queryChunks.map((chunk) => (is(chunk, StringChunk) ? chunk.value.join('') : '')).join('');
}

/** Whether something is a table. */
export function isTable(value: unknown): value is PgCore.PgTable {
  return is(value, core.PgTable);
}
