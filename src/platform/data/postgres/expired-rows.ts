import type { PgTable } from 'drizzle-orm/pg-core';
import { getTableConfig, isTable } from './drizzle.ts';

/** Returns the names of the columns of a table's primary key, in their order. */
export function primaryKeyOf(table: PgTable): string[] {
  const { columns, primaryKeys } = getTableConfig(table);
  const composite = primaryKeys[0]?.columns;
  return (composite ?? columns.filter(({ primary }) => primary)).map(({ name }) => name);
}

/** Rows that are removed some time after the time in one of their columns. */
export interface ExpiredRows {
  /** The table, or its quoted name if its primary key is `id`. */
  table: PgTable | string;
  /** The column with the time, which needs an index; `id`: the time of creation, with which ids begin. Default: `expires_at`. */
  column?: string;
  /** How long rows are kept after that time, as an SQL interval: `interval '1 day'`. Default: not at all. */
  keep?: string;
  /** A further condition in SQL, such as the predicate of a partial index on `column`. */
  where?: string;
}

/** Returns the statement that deletes expired rows, those that expired first. $1 maximum number of rows. Returns a row for each. */
export function removeExpiredSql({ table, column = 'expires_at', keep, where }: ExpiredRows): string {
  const [name, key] = isTable(table) ? [getTableConfig(table).name, primaryKeyOf(table).join(', ')] : [table, 'id'];
  const time = keep === undefined ? 'now()' : `now() - ${keep}`;
  const latest = column === 'id' ? `to_hex(floor(extract(epoch from ${time}))::bigint)` : time;
  return `delete from ${name} where (${key}) in (
    select ${key} from ${name} where ${where === undefined ? '' : `(${where}) and `}${column} <= ${latest}
    order by ${column} limit $1 for update skip locked
  ) returning 1`;
}
