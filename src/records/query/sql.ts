import { quoteIdentifier } from '../../platform/postgres/quote-identifier.ts';
import { arrayTextSql } from '../fields/index-expressions.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { columnOf } from '../schema/compiled.ts';
import type { Comparison, ListCondition } from './condition.ts';

const COMPARE = { eq: '=', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

/** Collects the values of a statement: each call of `add` gives the placeholder that stands for its value. */
export interface Parameters {
  values: unknown[];
  add(value: unknown): string;
}

/** @param values those that the statement has already: their placeholders are $1 … $n */
export function parameters(values: unknown[] = []): Parameters {
  return { values, add: (value) => `$${values.push(value)}` };
}

function comparisonSql(resource: CompiledResource, { field, op, value }: Comparison, params: Parameters): string {
  const column = quoteIdentifier(columnOf(resource, field));
  const declared = resource.field.get(field);
  if (op === 'exists') return value === true ? `${column} is not null` : `${column} is null`;
  if (declared?.spec.inner !== undefined) {
    const type = declared.type.column(declared.spec);
    if (op === 'eq') return `${column} @> ${params.add([value])}::${type}`;
    if (op === 'all') return `${column} @> ${params.add(value)}::${type}`;
    if (op === 'in') return `${column} && ${params.add(value)}::${type}`;
    // Like `ne`: a record without the field is one that does not hold the value.
    return `(${column} is null or not ${column} && ${params.add(op === 'ne' ? [value] : value)}::${type})`;
  }
  if (op === 'in') return `${column} = any(${params.add(value)})`;
  if (op === 'nin') return `(${column} is null or ${column} <> all(${params.add(value)}))`;
  if (op === 'ne') return `${column} is distinct from ${params.add(value)}`;
  // By code point, as in memory: the database's own order of letters depends on where it was made.
  const order = op !== 'eq' && declared?.type.textual ? ' collate "C"' : '';
  return `${column} ${COMPARE[op as keyof typeof COMPARE]} ${params.add(value)}${order}`;
}

/** Whether a text, or an item of an array of texts, is like a pattern. */
function containsSql(resource: CompiledResource, field: string, pattern: string): string {
  const column = columnOf(resource, field);
  if (resource.field.get(field)?.spec.inner === undefined) return `${quoteIdentifier(column)} ilike ${pattern}`;
  // The index is on the joined items. Check each item as well: a match may span two items.
  const items = `exists (select from unnest(${quoteIdentifier(column)}) _item where _item ilike ${pattern})`;
  return `(${arrayTextSql(column)} ilike ${pattern} and ${items})`;
}

/** A condition as SQL; values become parameters. */
export function conditionSql(resource: CompiledResource, condition: ListCondition, params: Parameters): string {
  if ('never' in condition) return 'false';
  if ('deletedUnder' in condition)
    return `("deleted_under" is null or "deleted_under" && ${params.add(condition.deletedUnder)}::text[])`;
  if ('any' in condition) return joinConditions(resource, condition.any, ' or ', 'false', params);
  if ('every' in condition) return joinConditions(resource, condition.every, ' and ', 'true', params);
  if ('contains' in condition) {
    const pattern = `%${condition.contains.replace(/[\\%_]/g, '\\$&')}%`;
    return containsSql(resource, condition.field, params.add(pattern));
  }
  return comparisonSql(resource, condition, params);
}

function joinConditions(
  resource: CompiledResource,
  conditions: readonly ListCondition[],
  word: string,
  empty: string,
  params: Parameters,
): string {
  if (conditions.length === 0) return empty;
  return `(${conditions.map((one) => conditionSql(resource, one, params)).join(word)})`;
}
