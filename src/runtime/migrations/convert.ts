/** How a column's values get another type: an expression that loses nothing, or why there is none. */
export type Conversion =
  | { using: string }
  | {
      /** What would be lost or fail. */
      fault: string;
      /** An expression that a person may want nevertheless; undefined where there is none. */
      example: string | undefined;
    };

/** Wider numbers hold all of the narrower: whole ones are within ±(2^53−1), which a double holds exactly. */
const WIDER: Record<string, readonly string[]> = {
  smallint: ['integer', 'bigint', 'double precision'],
  integer: ['bigint', 'double precision'],
  bigint: ['double precision'],
};

/** Kinds of text that take any text. To others nothing is converted: a number is no e-mail address. */
const ANY_TEXT = new Set<string | undefined>(['string', 'text', 'array of string', 'array of text', undefined]);

// Not an array of them.
const TIMESTAMP = /^timestamp[^[]*$/;

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

const NUMBERS = new Set(['bigint', 'double precision']);

/** A value that is neither text nor JSON as another one, if there is a meaning that all of them have. */
function recast(column: string, from: string, to: string): string | undefined {
  if (from === 'boolean' && NUMBERS.has(to)) return `${column}::int::${to}`;
  if (NUMBERS.has(from) && to === 'boolean') return `${column} <> 0`;
  if (NUMBERS.has(from) && TIMESTAMP.test(to)) return `to_timestamp(${column} / 1000.0)`;
  if (TIMESTAMP.test(from) && NUMBERS.has(to)) return `(extract(epoch FROM ${column}) * 1000)::${to}`;
  // Of other types, which an extension may have, a person knows more.
  return [from, to].every((type) => NEEDED[type] !== undefined || TIMESTAMP.test(type) || type.endsWith('[]'))
    ? undefined
    : `${column}::text::${to}`;
}

/** Items of an array in another type; Postgres takes no subquery here, so only what a cast does. */
function recastItems(column: string, from: string, to: string): string | undefined {
  if (from === 'text' || to === 'text' || (NUMBERS.has(from) && NUMBERS.has(to))) return `${column}::${to}[]`;
  return from === 'boolean' && NUMBERS.has(to) ? `${column}::int[]::${to}[]` : undefined;
}

function unsafe(column: string, from: string, to: string): Extract<Conversion, { fault: string }> {
  const wanted = NEEDED[to] ?? (TIMESTAMP.test(to) ? 'a date' : to);
  const [item, items] = [from.replace(/\[\]$/, ''), to.replace(/\[\]$/, '')];
  const fails = `a value that is not ${wanted} would fail`;
  if (from === 'double precision' && to === 'bigint')
    return { fault: 'fractions would be lost', example: `round(${column})::bigint` };
  if (item !== from && items === to)
    return { fault: 'all items but the first would be lost', example: expression(`${column}[1]`, item, to) };
  if (from === 'text') {
    const example = items === to ? `nullif(${column}, '')::${to}` : `string_to_array(${column}, ',')::${to}`;
    return { fault: `a text that is not ${wanted} would fail`, example };
  }
  if (from === 'jsonb' && items !== to)
    return { fault: fails, example: `translate(${column}::text, '[]', '{}')::${to}` };
  if (from === 'jsonb') return { fault: fails, example: `(${column} #>> '{}')::${to}` };
  const fault = 'there is no conversion that keeps every value';
  if (item !== from) return { fault, example: recastItems(column, item, items) };
  return { fault, example: recast(column, from, to) };
}

/** An expression that gives the values in another type, whatever is lost or fails; undefined where there is none. */
function expression(column: string, from: string, to: string): string | undefined {
  if (from === to) return column;
  return lossless(column, from, to) ?? unsafe(column, from, to).example;
}

/** An expression that turns each value into the one that it stands for in another type, or fails on it. */
export function faithful(column: string, from: string, to: string): string {
  return from === 'boolean' && NUMBERS.has(to) ? recast(column, from, to)! : `${column}::text::${to}`;
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
    return { fault: `a value that is no ${kind} would stay as it is`, example: expression(column, from, to) };
  const using = lossless(column, from, to);
  return using === undefined ? unsafe(column, from, to) : { using };
}
