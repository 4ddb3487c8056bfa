import { quoteIdentifier } from '../../../platform/data/postgres/identifiers.ts';
import { arrayTextSql, isServedByTrigrams } from '../../fields/index-expressions.ts';
import { type CompiledResource, columnOf } from '../../schema/compiled.ts';
import { joinSql } from '../../schema/relations.ts';
import { ALL_RECORDS_ALIAS } from '../../schema/table-names.ts';
import { type Comparison, type ListCondition, RelatedCondition } from '../list-query.ts';

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

/** The SQL of a column: of the row with this alias, or unqualified. */
function columnSql(resource: CompiledResource, field: string, row: string | undefined): string {
  const column = quoteIdentifier(columnOf(resource, field));
  return row === undefined ? column : `${row}.${column}`;
}

function comparisonSql(
  resource: CompiledResource,
  { field, op, value }: Comparison,
  params: Parameters,
  row: string | undefined,
): string {
  const column = columnSql(resource, field, row);
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

const RELATED_ROW = /^_related(\d+)$/;

/** Whether a statement follows relations. */
export function followsRelations(text: string): boolean {
  return text.includes(' _related1 ');
}

/** The alias of a related row in a subquery inside the query of `row`. */
export function nextRelatedRow(row: string | undefined): string {
  return `_related${Number(RELATED_ROW.exec(row ?? '')?.[1] ?? 0) + 1}`;
}

/**
 * The SQL of a condition on related records.
 *
 * @param from the SQL of the row's value that the related records refer to
 * @param row the alias of the row; undefined for a row of the outermost query
 */
export function relatedConditionSql(
  { target, join, some, none, unchecked }: RelatedCondition,
  from: string,
  params: Parameters,
  row?: string,
): string {
  if (unchecked !== undefined) throw new Error(`the visibility of "${unchecked.name}" was not checked`);
  const related = nextRelatedRow(row);
  const conditions = [joinSql(join, from, related), ...some.map((one) => conditionSql(target, one, params, related))];
  return `${none ? 'not ' : ''}exists (select from ${quoteIdentifier(target.table)} ${related} where ${conditions.join(' and ')})`;
}

/** The name of the outermost query's row in a subquery. */
export function outermostRowSql({ source, table }: CompiledResource): string {
  return source === undefined ? quoteIdentifier(table) : ALL_RECORDS_ALIAS;
}

/**
 * A condition as SQL; values become parameters.
 *
 * @param row the alias of the row; left out for a row of the outermost query
 */
export function conditionSql(
  resource: CompiledResource,
  condition: ListCondition,
  params: Parameters,
  row?: string,
): string {
  if (condition instanceof RelatedCondition) {
    const { from } = condition.join;
    return relatedConditionSql(condition, `${row ?? outermostRowSql(resource)}.${quoteIdentifier(from)}`, params, row);
  }
  if ('never' in condition) return 'false';
  if ('deletedUnder' in condition)
    return `("deleted_under" is null or "deleted_under" && ${params.add(condition.deletedUnder)}::text[])`;
  if ('any' in condition) return joinConditionsSql(resource, condition.any, ' or ', 'false', params, row);
  if ('every' in condition) return joinConditionsSql(resource, condition.every, ' and ', 'true', params, row);
  if ('contains' in condition) {
    const pattern = `%${condition.contains.replace(/[\\%_]/g, '\\$&')}%`;
    return containsSql(resource, condition.field, condition.contains, params.add(pattern));
  }
  return comparisonSql(resource, condition, params, row);
}

function joinConditionsSql(
  resource: CompiledResource,
  conditions: readonly ListCondition[],
  word: string,
  empty: string,
  params: Parameters,
  row: string | undefined,
): string {
  if (conditions.length === 0) return empty;
  return `(${conditions.map((one) => conditionSql(resource, one, params, row)).join(word)})`;
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
