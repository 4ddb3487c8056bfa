import { quoteIdentifier } from '../../platform/postgres/identifiers.ts';
import { type CompiledField, type CompiledResource, sqlTypeOf } from '../schema/compiled.ts';

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
