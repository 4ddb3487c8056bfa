import pg from 'pg';

/** Converts `2026-11-21 02:49:37.12+00` (the form that Postgres prints in UTC) to ISO 8601 with milliseconds. Far cheaper than a Date. */
export function toIsoTimestamp(text: string): string {
  const zone = text.indexOf('+', 19);
  const plain = zone === -1 ? text : text.slice(0, zone);
  const fraction = plain.length > 19 ? plain.slice(20, 23).padEnd(3, '0') : '000';
  return `${plain.slice(0, 10)}T${plain.slice(11, 19)}.${fraction}Z`;
}

const parseAnyArray = pg.types.getTypeParser(1009 as never) as (text: string) => (string | null)[];
const SIMPLE_ARRAY = /^\{[^"\\{}]+\}$/;

/** Parses a list of texts. Most need no quotes, and are only split. */
const parseTextArray = (text: string) =>
  SIMPLE_ARRAY.test(text) && !text.includes('NULL') ? text.slice(1, -1).split(',') : parseAnyArray(text);

const createArrayParser = (parse: (text: string) => unknown) => (text: string) =>
  parseAnyArray(text).map((item) => (item === null ? null : parse(item)));

const PARSERS = new Map<number, (text: string) => unknown>([
  [20, Number],
  [1009, parseTextArray],
  [1016, createArrayParser(Number)],
  [1184, toIsoTimestamp],
  [1185, createArrayParser(toIsoTimestamp)],
  [1231, createArrayParser(String)],
]);

/**
 * The type parsers of every connection: bigint as number (the columns hold ±(2^53−1)), timestamptz as an ISO string,
 * numeric as a text with all its digits.
 */
export const typeParsers = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && PARSERS.get(oid)) || pg.types.getTypeParser(oid as never, format as never),
} as pg.CustomTypesConfig;

/** A value in an array parameter for `unnest`. */
type Value = string | number | boolean | null;

/**
 * The Postgres literal of an array of values that need no quotes: numbers, booleans, ids, timestamps. pg's own conversion escapes
 * each element, which takes longer than the statement itself on long arrays.
 */
export function plainArrayLiteral(values: readonly Value[]): string {
  return `{${values.map((value) => (value === null ? 'NULL' : value)).join(',')}}`;
}

const SPECIAL = /["\\]/;

/** Returns the Postgres literal of an array of arbitrary texts. */
export function textArrayLiteral(values: readonly (string | null)[]): string {
  const elements = values.map((value) => {
    if (value === null) return 'NULL';
    return `"${SPECIAL.test(value) ? value.replace(/["\\]/g, '\\$&') : value}"`;
  });
  return `{${elements.join(',')}}`;
}

/** Compares object members in the order of `jsonb`: by the length of their names in bytes, then by the bytes. */
function compareMembers([a]: [string, unknown], [b]: [string, unknown]): number {
  return Buffer.byteLength(a) - Buffer.byteLength(b) || Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Returns a JSON value as the text that Postgres prints for it as `jsonb`. */
export function toJsonbText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(toJsonbText).join(', ')}]`;
  const members = Object.entries(value).sort(compareMembers);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}: ${toJsonbText(member)}`).join(', ')}}`;
}

/** Quotes a text for SQL statements that take no parameters. Such texts come from declarations, never from a request. */
export function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The message for a text that Postgres cannot store: it contains NUL or half of a surrogate pair. */
export const UNSTORABLE = 'Must not contain NUL or broken characters';

/** Whether Postgres can store a text unchanged: no NUL, no lone surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
