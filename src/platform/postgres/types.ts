import pg from 'pg';

/** Converts `2026-11-21 02:49:37.12+00` (the form that Postgres prints in UTC) to ISO 8601 with milliseconds. Far cheaper than a Date. */
export function isoTimestamp(text: string): string {
  const zone = text.indexOf('+', 19);
  const plain = zone === -1 ? text : text.slice(0, zone);
  const fraction = plain.length > 19 ? plain.slice(20, 23).padEnd(3, '0') : '000';
  return `${plain.slice(0, 10)}T${plain.slice(11, 19)}.${fraction}Z`;
}

const arrayOf = (parse: (text: string) => unknown) => (text: string) =>
  (pg.types.getTypeParser(1009 as never) as (text: string) => (string | null)[])(text).map((item) =>
    item === null ? null : parse(item),
  );

const PARSERS = new Map<number, (text: string) => unknown>([
  [20, Number],
  [1016, arrayOf(Number)],
  [1184, isoTimestamp],
  [1185, arrayOf(isoTimestamp)],
  [1231, arrayOf(String)],
]);

/**
 * The type parsers of every connection: bigint as number (the columns hold ±(2^53−1)), timestamptz as an ISO string,
 * numeric as a text with all its digits.
 */
export const typeParsers = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && PARSERS.get(oid)) || pg.types.getTypeParser(oid as never, format as never),
} as pg.CustomTypesConfig;
