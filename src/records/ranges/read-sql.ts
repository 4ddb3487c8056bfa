import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { quoteLiteral } from '../../platform/data/postgres/values.ts';
import { rangeSequenceName } from '../schema/table-names.ts';
import { isStoringSql } from './triggers.ts';

// Postgres cannot know how few rows are newer than `until`. With the second comparison, which all rows meet, it expects few and uses the index.
const isNewerSql = (until: string) => `created_at > ${until} and created_at <= 'infinity'`;

/**
 * The `until` of a table's ranges; no row if the table has none, or if changes may have been made that were not stored, because someone disabled
 * a trigger or set the sequence back, as a restore of data does.
 */
function stateSql(table: string): string {
  const oid = `${quoteLiteral(quoteIdentifier(table))}::regclass::oid`;
  return `select until from ranged_tables
    where table_name = ${quoteLiteral(table)} and table_oid = ${oid}::bigint and until > '-infinity'
      and ${isStoringSql(oid, quoteLiteral(rangeSequenceName(table)), 'until')}`;
}

const countNewerSql = (table: string, until: string) =>
  `(select count(*) from ${quoteIdentifier(table)} where ${isNewerSql(until)})`;

/**
 * The statement that counts the rows of a table by its ranges: the numbers of the ranges, the stored changes, and the rows that are newer than all
 * ranges. One statement sees one state of all of them, so the total is exact. No row if the table has no ranges.
 */
export function rangedTotalSql(table: string): string {
  const sumSql = (column: string, from: string, where = '') =>
    `coalesce((select sum(${column}) from ${from} where table_name = ${quoteLiteral(table)}${where}), 0)`;
  const total = [
    sumSql('rows', 'record_ranges'),
    sumSql('change', 'record_range_changes', ' and at <= state.until'),
    countNewerSql(table, 'state.until'),
  ].join(' + ');
  return `with state as materialized (${stateSql(table)}) select (${total})::bigint from state`;
}

/** The SQL of a page that begins in a range. */
interface RangedPageSql {
  /** The common table expressions, after `with`. */
  with: string;
  /** The condition of the rows from the beginning of the range on, in the order of the list. */
  where: string;
  /** The number of rows to skip from there. */
  offset: string;
}

/**
 * The SQL that finds the range in which a page of the list ordered by `created_at` and `id` begins. Few rows are left to skip, at most about
 * twice the rows of a range. Without ranges, the page is empty.
 *
 * @param offset the placeholder of the number of rows before the page
 */
export function rangedPageSql(table: string, descending: boolean, offset: string): RangedPageSql {
  const name = quoteLiteral(table);
  const common = `_state as materialized (${stateSql(table)}),
  _points as (
    select from_at as at, from_id as id, rows, true as begins from record_ranges where table_name = ${name}
    union all
    select at, id, change, false from record_range_changes where table_name = ${name} and at <= (select until from _state)),
  _placed as (
    select at, id, rows, begins, count(*) filter (where begins) over (order by at, id, begins desc) as range from _points),
  _ranges as (
    select range, max(at) filter (where begins) as at, max(id) filter (where begins) as id, sum(rows) as rows
    from _placed group by range)`;
  const findSql = (parts: string, direction: string, nearest: string) => `_begin as materialized (
    select at, id, (${offset}::bigint - before)::bigint as skipped
    from (select range, at, id, sum(rows) over (order by range${direction}) - rows as before from ${parts}) _counted
    where before <= ${offset}::bigint order by range${nearest} limit 1)`;
  const position = '((select at from _begin), (select id from _begin))';
  const offsetSql = '(select skipped from _begin)';
  // The comparisons that all rows meet: see isNewerSql.
  if (!descending)
    return {
      with: `${common}, ${findSql('_ranges, _state', '', ' desc')}`,
      where: `created_at >= (select at from _begin) and created_at <= 'infinity' and (created_at, id) >= ${position}`,
      offset: offsetSql,
    };
  // A range is read from its end, which is the beginning of the next range. The first rows of the list are newer than all ranges.
  const parts = `_parts as (
    select range, rows, coalesce(lead(at) over later, until + interval '1 microsecond') as at, coalesce(lead(id) over later, '') as id
    from _ranges, _state window later as (order by range)
    union all
    select ${Number.MAX_SAFE_INTEGER}, ${countNewerSql(table, 'until')}, 'infinity', 'zz' from _state)`;
  return {
    with: `${common}, ${parts}, ${findSql('_parts', ' desc', '')}`,
    where: `created_at <= (select at from _begin) and created_at >= '-infinity' and (created_at, id) < ${position}`,
    offset: offsetSql,
  };
}
