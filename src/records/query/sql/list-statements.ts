import { quoteIdentifier } from '../../../platform/data/postgres/identifiers.ts';
import { prefixSql } from '../../fields/index-expressions.ts';
import { rangedPageSql } from '../../ranges/read-sql.ts';
import { canHaveRanges } from '../../ranges/triggers.ts';
import type { CompiledResource } from '../../schema/compiled.ts';
import { relationJoinSql } from '../../schema/relations.ts';
import {
  type ListCondition,
  type ListQuery,
  type ListSortTerm,
  MAX_FAST_OFFSET,
  type Position,
  sortsByRelated,
} from '../list-query.ts';
import { conditionSql, createSqlParameters, nextRelatedRow, outermostRowSql, type Parameters } from './conditions.ts';

interface PositionTerm {
  /** SQL expression. */
  column: string;
  descending: boolean;
  /** Whether the value may be missing: Postgres sorts nulls as the greatest. */
  nullable: boolean;
  /** The placeholder of the value at the position; undefined if the value is missing. */
  value: string | undefined;
}

/** The SQL of the value that sorts a list. */
function sortValueSql(resource: CompiledResource, { field: name, column, related }: ListSortTerm, params: Parameters) {
  const ownSql = (holder: CompiledResource, field: string, value: string) =>
    holder.field.get(field)?.sortsByPrefix ? prefixSql(value) : value;
  if (related === undefined) return ownSql(resource, name, quoteIdentifier(column));
  const { steps, isChecked } = related;
  if (!isChecked) throw new Error(`the visibility of "${name}" was not checked`);
  const followSql = (at: number, row: string): string => {
    const { relation, target, visible } = steps[at]!;
    const next = nextRelatedRow(row);
    const conditions = visible.map((one) => conditionSql(target, one, params, next));
    const value =
      at + 1 < steps.length
        ? followSql(at + 1, next)
        : ownSql(target, name.slice(name.lastIndexOf('.') + 1), `${next}.${quoteIdentifier(column)}`);
    const where = [relationJoinSql(relation, row, next), ...conditions].join(' and ');
    return `(select ${value} from ${quoteIdentifier(target.table)} ${next} where ${where})`;
  };
  return followSql(0, outermostRowSql(resource));
}

/** The column type of the value that sorts a list. */
function findSortType(resource: CompiledResource, { field: name, related }: ListSortTerm): string {
  const [holder, field] =
    related === undefined ? [resource, name] : [related.steps.at(-1)!.target, name.slice(name.lastIndexOf('.') + 1)];
  return holder.field.get(field)?.columnType.sql ?? (field === 'id' ? 'text' : 'timestamptz');
}

/** The statement that reads the position of a record in a list: for each sort term, a text as Postgres writes it. */
export function createPositionStatement(
  resource: CompiledResource,
  id: string,
  sort: readonly ListSortTerm[],
  conditions: readonly ListCondition[],
): UnnamedStatement {
  const params = createSqlParameters([id]);
  const values = sort.map((term) => `(${sortValueSql(resource, term, params)})::text`);
  const where = ['"id" = $1', ...conditions.map((one) => conditionSql(resource, one, params))].join(' and ');
  return { text: `select ${values.join(', ')} from ${fromSql(resource)} where ${where}`, values: params.values };
}

function createPositionTerm(
  resource: CompiledResource,
  term: ListSortTerm,
  value: unknown,
  params: Parameters,
  areTexts: boolean,
): PositionTerm {
  const field = resource.field.get(term.field);
  const { descending } = term;
  if (areTexts) {
    const placeholder = value === null ? undefined : `${params.add(value)}::${findSortType(resource, term)}`;
    return { column: sortValueSql(resource, term, params), descending, nullable: true, value: placeholder };
  }
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
  sort: readonly ListSortTerm[],
  position: Position,
  params: Parameters,
): string[] {
  const areTexts = sortsByRelated(sort);
  return rangesAfterTermsSql(sort.map((term, i) => createPositionTerm(resource, term, position[i], params, areTexts)));
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
  /** Whether to begin in the range that holds the first row, which skips few rows. Only for lists that `isOrderedLikeRanges` allows. */
  byRanges?: boolean;
  /** The position before the first row; undefined for the start of the list. */
  after: Position | undefined;
}

/** A sort order as SQL. */
export function orderSql(resource: CompiledResource, sort: readonly ListSortTerm[], params: Parameters): string {
  return sort.map((term) => `${sortValueSql(resource, term, params)}${term.descending ? ' desc' : ''}`).join(', ');
}

// Postgres sorts nulls last, and first in descending order, so this is the exact reverse.
function reverseTerm(term: ListSortTerm): ListSortTerm {
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
 * The SQL of a page that skips rows. To skip many, it reads only their ids: an index on the order holds them, and the rows themselves are
 * not fetched.
 */
function offsetPageSql(
  resource: CompiledResource,
  columns: string,
  sort: readonly ListSortTerm[],
  slice: Slice,
  { conditions, limit, offset }: OffsetPageParts,
  params: Parameters,
): string {
  const order = orderSql(resource, sort, params);
  const readOrder = slice.fromEnd ? orderSql(resource, sort.map(reverseTerm), params) : order;
  const rowsSql = (selected: string) =>
    `select ${selected} from ${fromSql(resource)}${whereSql(conditions)} order by ${readOrder} limit ${limit} offset ${offset}`;
  if (sortsByRelated(sort)) return rowsSql(columns);
  if (resource.source !== undefined || !(slice.fromEnd || slice.offset > MAX_FAST_OFFSET))
    return slice.fromEnd ? `select * from (${rowsSql(columns)}) _page order by ${order}` : rowsSql(columns);
  // `limit 1` keeps the join a look-up of each id, even in a plan that was made without knowing the limit.
  const row = `select ${columns} from ${fromSql(resource)} where "id" = "_id" limit 1`;
  return `select ${columns} from (${rowsSql('"id" as "_id"')}) _ids cross join lateral (${row}) _row order by ${order}`;
}

/** Whether a list holds all rows of a table that may be counted in ranges. */
export function holdsWholeTable(resource: CompiledResource, { conditions }: SelectedList): boolean {
  return conditions.length === 0 && canHaveRanges(resource);
}

/** Whether a list holds all rows of a table in the order of its ranges, or in the reverse order. */
export function isOrderedLikeRanges(resource: CompiledResource, list: SelectedList): boolean {
  const [first, second] = list.sort;
  return (
    holdsWholeTable(resource, list) &&
    first!.field === 'createdAt' &&
    first!.related === undefined &&
    second?.field === 'id' &&
    second.descending === first!.descending
  );
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
  const ranges = slice.after === undefined ? [] : rangesAfterPositionSql(resource, list.sort, slice.after, params);
  const limit = params.add(slice.limit);
  if (slice.offset > 0 || slice.fromEnd) {
    const offset = params.add(slice.offset);
    const parts = { conditions, limit, offset };
    if (!slice.byRanges)
      return { text: offsetPageSql(resource, columns, list.sort, slice, parts, params), values: params.values };
    const ranged = rangedPageSql(resource.table, list.sort[0]!.descending, offset);
    const rangedParts = { conditions: [ranged.where], limit, offset: ranged.offset };
    const text = `with ${ranged.with} ${offsetPageSql(resource, columns, list.sort, slice, rangedParts, params)}`;
    return { text, values: params.values };
  }
  const order = orderSql(resource, list.sort, params);
  const rowsSql = (range: readonly string[]) =>
    `select ${selected} from ${fromSql(resource)}${whereSql([...conditions, ...range])} order by ${order} limit ${limit}`;
  if (ranges.length < 2) return { text: rowsSql(ranges), values: params.values };
  // No index serves the order, and the whole list is sorted anyway.
  if (sortsByRelated(list.sort)) return { text: rowsSql([`(${ranges.join(' or ')})`]), values: params.values };
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
  // A literal instead of a parameter: Postgres plans for the number.
  const text =
    cap === undefined ? `select count(*) ${rows}` : `select count(*) from (select ${rows} limit ${cap}) _rows`;
  return { text, values: params.values };
}
