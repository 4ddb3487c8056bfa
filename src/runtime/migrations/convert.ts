/** How a column's values get another type: an expression that loses nothing, or why there is none. */
export type Conversion =
  | { using: string }
  | {
      /** What would be lost or fail. */
      fault: string;
      /** An expression that a person may want nevertheless. */
      example: string;
    };

/** Wider numbers hold all of the narrower: whole ones are within ±(2^53−1), which a double holds exactly. */
const WIDER: Record<string, readonly string[]> = {
  smallint: ['integer', 'bigint', 'double precision'],
  integer: ['bigint', 'double precision'],
  bigint: ['double precision'],
};

/** Kinds of text that take any text. To others nothing is converted: a number is no e-mail address. */
const ANY_TEXT = new Set<string | undefined>(['string', 'text', 'array of string', 'array of text', undefined]);

const TIMESTAMP = /^timestamp/;

// As an API returns it.
const isoText = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** A cast that loses nothing, if there is one. */
function cast(column: string, from: string, to: string): string | undefined {
  if (WIDER[from]?.includes(to)) return `${column}::${to}`;
  if (to !== 'text') return undefined;
  if (from === 'boolean' || from === 'double precision' || WIDER[from] !== undefined) return `${column}::text`;
  return undefined;
}

function lossless(column: string, from: string, to: string): string | undefined {
  const plain = cast(column, from, to);
  if (plain !== undefined) return plain;
  if (TIMESTAMP.test(from) && to === 'text') return isoText(column);
  if (to === `${from}[]`) return `CASE WHEN ${column} IS NULL THEN NULL ELSE ARRAY[${column}] END`;
  if (to === 'jsonb') return `to_jsonb(${TIMESTAMP.test(from) ? isoText(column) : column})`;
  if (from.endsWith('[]') && to.endsWith('[]') && cast(column, from.slice(0, -2), to.slice(0, -2)) !== undefined)
    return `${column}::${to}`;
  return undefined;
}

const NEEDED: Record<string, string> = {
  bigint: 'a whole number',
  'double precision': 'a number',
  boolean: 'true or false',
  jsonb: 'JSON',
};

function unsafe(column: string, from: string, to: string): Conversion {
  const wanted = NEEDED[to] ?? (TIMESTAMP.test(to) ? 'a date' : to);
  if (from === 'double precision' && to === 'bigint')
    return { fault: 'fractions would be lost', example: `round(${column})::bigint` };
  if (from === `${to}[]`) return { fault: 'all items but the first would be lost', example: `${column}[1]` };
  if (from === 'text')
    return { fault: `a text that is not ${wanted} would fail`, example: `nullif(${column}, '')::${to}` };
  if (from === 'jsonb')
    return { fault: `a value that is not ${wanted} would fail`, example: `(${column} #>> '{}')::${to}` };
  return { fault: 'there is no conversion that keeps every value', example: `${column}::text::${to}` };
}

/**
 * How values of a column get another type.
 *
 * @param column in quotes
 * @param from a Postgres type; never that of a ciphertext or a password hash
 * @param kind the kind of field that it becomes; undefined when it is no field's column
 */
export function conversion(column: string, from: string, to: string, kind: string | undefined): Conversion {
  const textual = to === 'text' || to === 'text[]';
  const arrayOfSame = to === `${from}[]`;
  if (textual && !arrayOfSame && !ANY_TEXT.has(kind))
    return { fault: `a value that is no ${kind} would stay as it is`, example: `${column}::${to}` };
  const using = lossless(column, from, to);
  return using === undefined ? unsafe(column, from, to) : { using };
}
