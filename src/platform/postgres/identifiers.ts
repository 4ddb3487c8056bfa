import { createHash } from 'node:crypto';

/** Postgres cuts longer identifiers, which could make two of them one: https://www.postgresql.org/docs/current/sql-syntax-lexical.html */
export const MAX_IDENTIFIER_BYTES = 63;
const DIGEST_LENGTH = 8;

/** The start of the SHA-256 digest of a text, to tell names apart. */
export function shortDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, DIGEST_LENGTH);
}

/** A generated name as it is; a name that is too long for Postgres is cut, with a digest of the whole at its end. */
export function boundedIdentifier(name: string): string {
  if (Buffer.byteLength(name) <= MAX_IDENTIFIER_BYTES) return name;
  return `${name.slice(0, MAX_IDENTIFIER_BYTES - DIGEST_LENGTH - 1)}_${shortDigest(name)}`;
}

/** The name that Postgres gives a primary key or a sequence: it cuts the longer of both parts until the label fits. */
function chosenByPostgres(table: string, column: string, label: string): string {
  let [first, second] = [table.length, column.length];
  const room = MAX_IDENTIFIER_BYTES - label.length - (column === '' ? 1 : 2);
  while (first + second > room) {
    if (first > second) first--;
    else second--;
  }
  return [table.slice(0, first), ...(column === '' ? [] : [column.slice(0, second)]), label].join('_');
}

/** The name of a table's primary key where the declaration gives none. */
export function primaryKeyName(table: string): string {
  return chosenByPostgres(table, '', 'pkey');
}

/** The name of the sequence of a serial column. */
export function sequenceName(table: string, column: string): string {
  return chosenByPostgres(table, column, 'seq');
}
