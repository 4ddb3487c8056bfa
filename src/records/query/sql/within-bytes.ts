import type { FieldSpec } from '../../../declare/field.ts';
import { quoteIdentifier } from '../../../platform/data/postgres/identifiers.ts';
import { fieldTypeOf } from '../../fields/field-type.ts';
import { longestTextBytes } from '../../fields/text-rules.ts';
import { type CompiledField, type CompiledResource, sqlTypeOf } from '../../schema/compiled.ts';

/** The first records of a page, as many as fit. */
export interface FittingPage<T> {
  records: T[];
  /** Whether records of the page were left out because they did not fit. */
  isCut: boolean;
}

/** Records with their size in bytes as Postgres stores them. */
export interface MeasuredPage<T> extends FittingPage<T> {
  bytes: number;
}

/**
 * The SQL for the uncompressed bytes of a column's value; undefined if every value is small. Postgres knows the size of most values without
 * fetching them. Only compressed JSON and arrays are unpacked, because the compression ratio of a hostile value cannot be guessed.
 *
 * @param name the column, as SQL
 * @param held the column's type
 */
export function valueSizeSql(name: string, held: string): string | undefined {
  if (held === 'text') return `coalesce(octet_length(${name}), 0)`;
  if (held !== 'jsonb' && !held.endsWith('[]')) return undefined;
  // Both expressions return the same value, but unpacked.
  const unpacked = held === 'jsonb' ? `${name} #> '{}'` : `${name} || '{}'::${held}`;
  const size = `case when pg_column_compression(${name}) is null then ${name} else ${unpacked} end`;
  return `coalesce(pg_column_size(${size}), 0)`;
}

function fieldSizeSql(field: CompiledField): string | undefined {
  return valueSizeSql(quoteIdentifier(field.column), sqlTypeOf(field));
}

/** The SQL for the bytes of a row of a resource. */
export function rowSizeSql({ fields }: CompiledResource): string {
  const sizes = fields.filter((field) => !field.type.concealed).map(fieldSizeSql);
  return sizes.filter((one) => one !== undefined).join(' + ') || '0';
}

// Above the size of a number, a time, or an id.
const MAX_SMALL_VALUE_BYTES = 64;
// `decimal` stores up to 1,000 digits on each side of the point.
const MAX_NUMERIC_BYTES = 2100;

/** @param maxBytes the maximum bytes of a text that fits into the indexes; undefined if no index limits it */
function maxValueBytes(spec: FieldSpec, held: string, maxBytes: number | undefined): number {
  const { concealed, indexedBytes } = fieldTypeOf(spec);
  if (concealed) return 0;
  // The output of a Standard Schema may have any length.
  if (spec.encrypted || held === 'jsonb' || spec.standard !== undefined) return Number.POSITIVE_INFINITY;
  if (held.endsWith('[]')) {
    const items = Number(spec.max?.value ?? Number.POSITIVE_INFINITY);
    return items * (spec.inner ? maxValueBytes(spec.inner.spec, held.slice(0, -2), maxBytes) : MAX_SMALL_VALUE_BYTES);
  }
  if (held === 'numeric') return MAX_NUMERIC_BYTES;
  if (held !== 'text') return MAX_SMALL_VALUE_BYTES;
  return Math.min(longestTextBytes(spec), maxBytes ?? indexedBytes?.(spec) ?? Number.POSITIVE_INFINITY);
}

/** The maximum bytes of a row by the declaration of its resource; infinite if a field has no maximum. */
export function maxRowBytes({ fields }: CompiledResource): number {
  const fixed = 4 * MAX_SMALL_VALUE_BYTES;
  return fields.reduce((sum, field) => sum + maxValueBytes(field.spec, sqlTypeOf(field), field.maxBytes), fixed);
}

/** The approximate bytes of a row in memory, for rows of texts, small values, and arrays of them. */
export function countRowBytes(row: readonly unknown[]): number {
  let bytes = 0;
  for (const value of row) {
    // With its quotes.
    if (typeof value === 'string') bytes += value.length + 2;
    else bytes += Array.isArray(value) ? countRowBytes(value) : 8;
  }
  return bytes;
}

const BEFORE = 'rows between unbounded preceding and 1 preceding';

/**
 * Creates a select of rows in id order that ends once the rows so far reach the bytes in a placeholder. It always returns the first row,
 * and at most one row beyond the limit. Rows after that are not fetched. The last column is the size of the row in bytes.
 *
 * @param columns the select list
 */
export function createSelectWithinBytes(
  resource: CompiledResource,
  columns: string,
): (where: string, placeholder: string) => string {
  const size = rowSizeSql(resource);
  const before = `sum(${size}) over (order by "id" ${BEFORE})`;
  const sized = `select ${columns}, ${size} as "_bytes", coalesce(${before}, 0) as "_before" from ${quoteIdentifier(resource.table)}`;
  return (where, placeholder) =>
    `select ${columns}, "_bytes" from (${sized} where ${where}) "_sized" where "_before" < ${placeholder}`;
}

/**
 * Like `createSelectWithinBytes`, for the rows that a statement selects, in their order. Two columns are added: the bytes of the row, and
 * whether another row follows.
 *
 * @param columns the select list
 * @param size the bytes of a row, as SQL
 */
export function createPageWithinBytes(
  columns: string,
  size: string,
): (statement: string, placeholder: string) => string {
  // A window without an order keeps the order of the statement's rows.
  const sized = `select ${columns}, ${size} as "_bytes", coalesce(sum(${size}) over "_all", 0) as "_before",
    lead(true) over "_all" as "_more"`;
  return (statement, placeholder) =>
    `select ${columns}, "_bytes", "_more" from (${sized} from (${statement}) "_page" window "_all" as (${BEFORE})) "_sized"
    where "_before" < ${placeholder}`;
}
