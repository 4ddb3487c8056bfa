import { quoteIdentifier } from '../../platform/postgres/quote-identifier.ts';
import { prefixSql } from '../fields/index-expressions.ts';
import type { CompiledResource, SortTerm } from '../schema/compiled.ts';
import { rangesAfter } from './keyset.ts';
import type { ListQuery, Position } from './list-query.ts';
import { conditionSql, parameters } from './sql.ts';

interface Unnamed {
  text: string;
  values: unknown[];
}

/** What the statements of a list are made from. */
export type SelectedList = Pick<ListQuery, 'conditions' | 'sort'>;

/** The part of a sorted list that is wanted. */
export interface Slice {
  limit: number;
  /** Rows to pass over. */
  offset: number;
  /** Where it begins; undefined for the start. */
  after: Position | undefined;
}

function orderSql({ field }: CompiledResource, sort: readonly SortTerm[]): string {
  const terms = sort.map(({ field: name, column, descending }) => {
    const whole = quoteIdentifier(column);
    return `${field.get(name)?.sortsByPrefix ? prefixSql(whole) : whole}${descending ? ' desc' : ''}`;
  });
  return terms.join(', ');
}

function whereSql(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`;
}

function fromSql({ source, table }: CompiledResource): string {
  return source ?? quoteIdentifier(table);
}

/** The statement of a page. */
export function pageStatement(resource: CompiledResource, columns: string, list: SelectedList, slice: Slice): Unnamed {
  const params = parameters();
  const conditions = list.conditions.map((condition) => conditionSql(resource, condition, params));
  const order = orderSql(resource, list.sort);
  const ranges = slice.after === undefined ? [] : rangesAfter(resource, list.sort, slice.after, params);
  const limit = params.add(slice.limit);
  const rows = (range: readonly string[]) =>
    `select ${columns} from ${fromSql(resource)}${whereSql([...conditions, ...range])} order by ${order} limit ${limit}`;
  if (slice.offset > 0) return { text: `${rows([])} offset ${params.add(slice.offset)}`, values: params.values };
  if (ranges.length < 2) return { text: rows(ranges), values: params.values };
  // Each range is read by itself, as far as the page could reach: joined by OR they would be read from the list's beginning.
  const parts = ranges.map((range) => `(${rows([range])})`).join(' union all ');
  return { text: `select * from (${parts}) _page order by ${order} limit ${limit}`, values: params.values };
}

/** The statement that counts a list. */
export function countStatement(resource: CompiledResource, { conditions }: SelectedList): Unnamed {
  const params = parameters();
  const where = whereSql(conditions.map((condition) => conditionSql(resource, condition, params)));
  return { text: `select count(*) from ${fromSql(resource)}${where}`, values: params.values };
}
