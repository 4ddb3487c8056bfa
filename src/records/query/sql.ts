import { quoteIdentifier } from '../../platform/postgres/identifiers.ts';
import { arrayTextSql, isServedByTrigrams, prefixSql } from '../fields/index-expressions.ts';
import { type CompiledResource, columnOf, type SortTerm } from '../schema/compiled.ts';
import { type Comparison, type ListCondition, type ListQuery, MAX_FAST_OFFSET, type Position } from './list-query.ts';

const COMPARISON_SIGNS = { eq: '=', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

/** Collects the values of a statement. Each call of `add` returns the placeholder of its value. */
export interface Parameters {
  values: unknown[];
  add(value: unknown): string;
}

/**
 * Creates the parameter list of an SQL statement: adding a value returns its placeholder.
 *
 * @param values the values that the statement already has; their placeholders are $1 … $n. Added values are appended to this array.
 */
export function createSqlParameters(values: unknown[] = []): Parameters {
  return { values, add: (value) => `$${values.push(value)}` };
}

function comparisonSql(resource: CompiledResource, { field, op, value }: Comparison, params: Parameters): string {
  const column = quoteIdentifier(columnOf(resource, field));
  const declared = resource.field.get(field);
  if (op === 'exists') return value === true ? `${column} is not null` : `${column} is null`;
  const convert = declared?.toParameter;
  const addConverted = (given: unknown) => {
    if (convert === undefined) return params.add(given);
    return params.add(Array.isArray(given) ? given.map(convert) : convert(given));
  };
  if (declared?.spec.inner !== undefined) {
    const type = declared.columnType.sql;
    if (op === 'eq') return `${column} @> ${addConverted([value])}::${type}`;
    if (op === 'all') return `${column} @> ${addConverted(value)}::${type}`;
    if (op === 'in') return `${column} && ${addConverted(value)}::${type}`;
    // `ne` and `nin` also match records without a value: such records hold none of the values.
    return `(${column} is null or not ${column} && ${addConverted(op === 'ne' ? [value] : value)}::${type})`;
  }
  if (op === 'in') return `${column} = any(${addConverted(value)})`;
  if (op === 'nin') return `(${column} is null or ${column} <> all(${addConverted(value)}))`;
  if (op === 'ne') return `${column} is distinct from ${addConverted(value)}`;
  // Compare texts by code point, as in memory: the database's own collation depends on how the database was created.
  const order = op !== 'eq' && declared?.type.textual ? ' collate "C"' : '';
  return `${column} ${COMPARISON_SIGNS[op as keyof typeof COMPARISON_SIGNS]} ${addConverted(value)}${order}`;
}

/** SQL that tests whether a text, or an item of an array of texts, matches a LIKE pattern that contains the searched text. */
function containsSql(resource: CompiledResource, field: string, searched: string, pattern: string): string {
  const column = columnOf(resource, field);
  const matchesSql = (text: string) =>
    // Without trigrams, the index would return every row, each to be checked again. `is true` prevents Postgres from using it.
    isServedByTrigrams(searched) ? `${text} ilike ${pattern}` : `(${text} ilike ${pattern}) is true`;
  if (resource.field.get(field)?.spec.inner === undefined) return matchesSql(quoteIdentifier(column));
  // The index covers the joined items. Check each item as well, because a match may span two items.
  const items = `exists (select from unnest(${quoteIdentifier(column)}) _item where _item ilike ${pattern})`;
  return `(${matchesSql(arrayTextSql(column))} and ${items})`;
}

/** A condition as SQL; values become parameters. */
export function conditionSql(resource: CompiledResource, condition: ListCondition, params: Parameters): string {
  if ('never' in condition) return 'false';
  if ('deletedUnder' in condition)
    return `("deleted_under" is null or "deleted_under" && ${params.add(condition.deletedUnder)}::text[])`;
  if ('any' in condition) return joinConditionsSql(resource, condition.any, ' or ', 'false', params);
  if ('every' in condition) return joinConditionsSql(resource, condition.every, ' and ', 'true', params);
  if ('contains' in condition) {
    const pattern = `%${condition.contains.replace(/[\\%_]/g, '\\$&')}%`;
    return containsSql(resource, condition.field, condition.contains, params.add(pattern));
  }
  return comparisonSql(resource, condition, params);
}

function joinConditionsSql(
  resource: CompiledResource,
  conditions: readonly ListCondition[],
  word: string,
  empty: string,
  params: Parameters,
): string {
  if (conditions.length === 0) return empty;
  return `(${conditions.map((one) => conditionSql(resource, one, params)).join(word)})`;
}

/** The condition that one of these transactions (ids) wrote the row's current version. Only SQL can check this condition. */
export interface WrittenByCondition {
  writers: readonly string[];
}

/**
 * The SQL condition that one of these transactions wrote the row's current version. About `xmin`:
 * https://www.postgresql.org/docs/current/ddl-system-columns.html
 */
export function writtenBySql({ writers }: WrittenByCondition, params: Parameters): string {
  return `"xmin" = any(${params.add(writers)}::xid[])`;
}

interface PositionTerm {
  /** SQL expression. */
  column: string;
  descending: boolean;
  /** Whether the value may be missing: Postgres sorts nulls as the greatest. */
  nullable: boolean;
  /** The placeholder of the value at the position; undefined if the value is missing. */
  value: string | undefined;
}

function createPositionTerm(
  resource: CompiledResource,
  term: SortTerm,
  value: unknown,
  params: Parameters,
): PositionTerm {
  const field = resource.field.get(term.field);
  const { descending } = term;
  const comparedSql = (text: string) => (field?.sortsByPrefix ? prefixSql(text) : text);
  const place = { column: comparedSql(quoteIdentifier(term.column)), descending, nullable: field !== undefined };
  if (value === null) return { ...place, value: undefined };
  if (field === undefined) return { ...place, value: params.add(value) };
  const stored = field.toParameter === undefined ? value : field.toParameter(value);
  return { ...place, value: comparedSql(`${params.add(stored)}::${field.columnType.sql}`) };
}

function equalsPositionSql({ column, value }: PositionTerm): string {
  return value === undefined ? `${column} is null` : `${column} = ${value}`;
}

/** The SQL conditions for the values of one sort term that come after its value at the position. */
function rangesAfterTermSql({ column, descending, nullable, value }: PositionTerm): string[] {
  if (value === undefined) return descending ? [`${column} is not null`] : [];
  if (descending) return [`${column} < ${value}`];
  return nullable ? [`${column} > ${value}`, `${column} is null`] : [`${column} > ${value}`];
}

/**
 * The conditions for terms with the same direction, all with values: a single row comparison, which an index on the terms serves as one
 * range scan.
 */
function rangesAfterRowSql(terms: readonly PositionTerm[]): string[] {
  const [columns, values] = [terms.map((term) => term.column), terms.map((term) => term.value)];
  const row = `(${columns.join(', ')}) ${terms[0]!.descending ? '<' : '>'} (${values.join(', ')})`;
  if (terms[0]!.descending) return [row];
  // A row comparison never matches records with a missing value.
  const without = terms.flatMap((term, i) =>
    term.nullable ? [[...terms.slice(0, i).map(equalsPositionSql), `${term.column} is null`].join(' and ')] : [],
  );
  return [row, ...without];
}

function rangesAfterTermsSql(terms: readonly PositionTerm[]): string[] {
  const [first, ...rest] = terms as [PositionTerm, ...PositionTerm[]];
  if (rest.length === 0) return rangesAfterTermSql(first);
  if (terms.every((term) => term.descending === first.descending && term.value !== undefined))
    return rangesAfterRowSql(terms);
  return [
    ...rangesAfterTermSql(first),
    ...rangesAfterTermsSql(rest).map((range) => `${equalsPositionSql(first)} and ${range}`),
  ];
}

/**
 * The records after a position in a sorted list, as SQL conditions. The conditions are disjoint and together complete. Each is one range of
 * an index on the sort terms, so a page costs the same wherever it begins.
 */
function rangesAfterPositionSql(
  resource: CompiledResource,
  sort: readonly SortTerm[],
  position: Position,
  params: Parameters,
): string[] {
  return rangesAfterTermsSql(sort.map((term, i) => createPositionTerm(resource, term, position[i], params)));
}

/** A statement without a name. */
export interface UnnamedStatement {
  text: string;
  values: unknown[];
}

/** The parts of a list query that its statements need. */
export type SelectedList = Pick<ListQuery, 'conditions' | 'sort'>;

/** The requested part of a sorted list. */
export interface Slice {
  limit: number;
  /** Rows to skip. */
  offset: number;
  /** Whether `offset` counts from the end of the list. The rows are returned in list order all the same. */
  fromEnd?: boolean;
  /** The position before the first row; undefined for the start of the list. */
  after: Position | undefined;
}

/** A sort order as SQL. */
export function orderSql({ field }: CompiledResource, sort: readonly SortTerm[]): string {
  const terms = sort.map(({ field: name, column, descending }) => {
    const whole = quoteIdentifier(column);
    return `${field.get(name)?.sortsByPrefix ? prefixSql(whole) : whole}${descending ? ' desc' : ''}`;
  });
  return terms.join(', ');
}

// Postgres sorts nulls last, and first in descending order, so this is the exact reverse.
function reverseTerm(term: SortTerm): SortTerm {
  return { ...term, descending: !term.descending };
}

function whereSql(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`;
}

function fromSql({ source, table }: CompiledResource): string {
  return source ?? quoteIdentifier(table);
}

/** The placeholders and conditions of a page that skips rows. */
interface OffsetPageParts {
  conditions: readonly string[];
  limit: string;
  offset: string;
}

/**
 * The SQL of a page that skips rows. To skip many, it reads only their ids: an index on the order holds them, so that the rows themselves
 * are not fetched.
 */
function offsetPageSql(
  resource: CompiledResource,
  columns: string,
  sort: readonly SortTerm[],
  slice: Slice,
  { conditions, limit, offset }: OffsetPageParts,
): string {
  const order = orderSql(resource, sort);
  const readOrder = slice.fromEnd ? orderSql(resource, sort.map(reverseTerm)) : order;
  const rowsSql = (selected: string) =>
    `select ${selected} from ${fromSql(resource)}${whereSql(conditions)} order by ${readOrder} limit ${limit} offset ${offset}`;
  if (resource.source !== undefined || !(slice.fromEnd || slice.offset > MAX_FAST_OFFSET))
    return slice.fromEnd ? `select * from (${rowsSql(columns)}) _page order by ${order}` : rowsSql(columns);
  // `limit 1` keeps the join a look-up of each id, even in a plan that was made without knowing the limit.
  const row = `select ${columns} from ${fromSql(resource)} where "id" = "_id" limit 1`;
  return `select ${columns} from (${rowsSql('"id" as "_id"')}) _ids cross join lateral (${row}) _row order by ${order}`;
}

/**
 * The statement of a page.
 *
 * @param tested a condition that does not narrow down the page: the column `_match`, the last one, tells which rows meet the condition
 */
export function createPageStatement(
  resource: CompiledResource,
  columns: string,
  list: SelectedList,
  slice: Slice,
  tested?: ListCondition,
): UnnamedStatement {
  const params = createSqlParameters();
  const selected = tested === undefined ? columns : `${columns}, ${conditionSql(resource, tested, params)} as "_match"`;
  const conditions = list.conditions.map((condition) => conditionSql(resource, condition, params));
  const order = orderSql(resource, list.sort);
  const ranges = slice.after === undefined ? [] : rangesAfterPositionSql(resource, list.sort, slice.after, params);
  const limit = params.add(slice.limit);
  const rowsSql = (range: readonly string[]) =>
    `select ${selected} from ${fromSql(resource)}${whereSql([...conditions, ...range])} order by ${order} limit ${limit}`;
  if (slice.offset > 0 || slice.fromEnd) {
    const text = offsetPageSql(resource, columns, list.sort, slice, {
      conditions,
      limit,
      offset: params.add(slice.offset),
    });
    return { text, values: params.values };
  }
  if (ranges.length < 2) return { text: rowsSql(ranges), values: params.values };
  // Read each range separately, up to the page limit: if they were joined by OR, Postgres would read from the start of the list.
  const parts = ranges.map((range) => `(${rowsSql([range])})`).join(' union all ');
  return { text: `select * from (${parts}) _page order by ${order} limit ${limit}`, values: params.values };
}

/**
 * The statement that counts a list.
 *
 * @param cap stop counting at this number; undefined to count all
 */
export function createCountStatement(
  resource: CompiledResource,
  { conditions }: SelectedList,
  cap: number | undefined,
): UnnamedStatement {
  const params = createSqlParameters();
  const where = whereSql(conditions.map((condition) => conditionSql(resource, condition, params)));
  const rows = `from ${fromSql(resource)}${where}`;
  // As a literal, so that Postgres plans for the number.
  const text =
    cap === undefined ? `select count(*) ${rows}` : `select count(*) from (select ${rows} limit ${cap}) _rows`;
  return { text, values: params.values };
}
