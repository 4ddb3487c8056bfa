import { quoteIdentifier } from '../../platform/postgres/quote-identifier.ts';
import type { CompiledField, CompiledResource } from '../compiled.ts';

// What JSON of an app is pressed to; what a hostile one is pressed to may be some twenty times less.
const LIKELY_COMPRESSION = 4;

/** The size of a value, which Postgres knows without fetching it; undefined where it is small whatever it is. */
function sizeSql({ column, spec, type }: CompiledField): string | undefined {
  const name = quoteIdentifier(column);
  const held = spec.encrypted ? 'text' : type.column(spec);
  if (held === 'text') return `coalesce(octet_length(${name}), 0)`;
  if (held !== 'jsonb' && !held.endsWith('[]')) return undefined;
  const factor = `case when pg_column_compression(${name}) is null then 1 else ${LIKELY_COMPRESSION} end`;
  return `coalesce(pg_column_size(${name}) * ${factor}, 0)`;
}

/**
 * Makes the select of rows in the order of their ids, as long as those before them hold fewer bytes than a placeholder says: the
 * first always, and no more than one beyond. What is left out is not fetched.
 *
 * @param columns the select list
 */
export function selectWithinBytes(
  resource: CompiledResource,
  columns: string,
): (where: string, placeholder: string) => string {
  const sizes = resource.fields.filter((field) => !field.type.concealed).map(sizeSql);
  const size = sizes.filter((one) => one !== undefined).join(' + ') || '0';
  const before = `sum(${size}) over (order by "id" rows between unbounded preceding and 1 preceding)`;
  const sized = `select ${columns}, coalesce(${before}, 0) as "_before" from ${quoteIdentifier(resource.table)}`;
  return (where, placeholder) =>
    `select ${columns} from (${sized} where ${where}) "_sized" where "_before" < ${placeholder}`;
}
