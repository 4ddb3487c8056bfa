import { createHash } from 'node:crypto';

/** Quotes the name of a table, a column or an index for SQL. Such names come from declarations, never from a request. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Postgres truncates longer identifiers, which could then collide: https://www.postgresql.org/docs/current/sql-syntax-lexical.html */
export const MAX_IDENTIFIER_BYTES = 63;
const DIGEST_LENGTH = 8;

/** Returns the first 8 hex digits of a text's SHA-256 digest, to tell truncated names apart. */
export function computeShortDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, DIGEST_LENGTH);
}

/** Returns a generated name unchanged, or, if it is too long for Postgres, truncated and followed by a digest of the whole name. */
export function shortenIdentifier(name: string): string {
  if (Buffer.byteLength(name) <= MAX_IDENTIFIER_BYTES) return name;
  return `${name.slice(0, MAX_IDENTIFIER_BYTES - DIGEST_LENGTH - 1)}_${computeShortDigest(name)}`;
}

/** Returns the name that Postgres chooses for a primary key or a sequence: it shortens the longer of both parts until the label fits. */
function defaultRelationName(table: string, column: string, label: string): string {
  let [first, second] = [table.length, column.length];
  const room = MAX_IDENTIFIER_BYTES - label.length - (column === '' ? 1 : 2);
  while (first + second > room) {
    if (first > second) first--;
    else second--;
  }
  return [table.slice(0, first), ...(column === '' ? [] : [column.slice(0, second)]), label].join('_');
}

/** Returns the name that Postgres gives a table's primary key if the declaration does not name the key. */
export function primaryKeyName(table: string): string {
  return defaultRelationName(table, '', 'pkey');
}

/** Returns the name that Postgres gives the sequence of a serial column. */
export function sequenceName(table: string, column: string): string {
  return defaultRelationName(table, column, 'seq');
}
