import { quoteIdentifier } from '../../platform/postgres/identifiers.ts';
import { MAX_INDEXED_BYTES } from '../../records/fields/text-rules.ts';

/** An error of Postgres (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
interface DatabaseError extends Error {
  code?: string;
}

const UNIQUE_VIOLATION = '23505';
const INVALID_VALUE = '22';
/** Postgres's code for an exceeded limit: for an index, the value is too large. */
const TOO_LARGE = '54000';
/** Postgres's codes for undefined or duplicate columns, tables, indexes and constraints. */
const UNEXPECTED_SCHEMA = new Set(['42703', '42P01', '42701', '42P07', '42704', '42710']);

const UNIQUE_INDEX = /^CREATE UNIQUE INDEX (?:CONCURRENTLY )?"[^"]+" ON "([^"]+)" USING \w+ \((.+?)\)/;
const INDEX = /^CREATE (?:UNIQUE )?INDEX (?:CONCURRENTLY )?"[^"]+" ON "([^"]+)" USING (\w+) \((.+?)\)/;
const TYPE_CHANGE =
  /^ALTER TABLE "([^"]+)" (?:ALTER COLUMN "[^"]+" DROP DEFAULT, )?ALTER COLUMN "([^"]+)" SET DATA TYPE (.+?)(?: USING|;|$)/;

function explainDuplicates(table: string, terms: string): string[] {
  const columns = [...terms.matchAll(/"([^"]+)"/g)].map(([, name]) => name!);
  const list = columns.map(quoteIdentifier).join(', ');
  const there = columns.map((name) => `${quoteIdentifier(name)} is not null`).join(' and ');
  return [
    `${columns.map((name) => `${table}.${name}`).join(' with ')} must become unique, but some rows have equal values`,
    `find them with: select ${list}, count(*) from ${quoteIdentifier(table)} where ${there} group by ${list} having count(*) > 1`,
  ];
}

function explainTooLongValues(table: string, method: string, terms: string): string[] {
  const columns = [...terms.matchAll(/"([^"]+)"/g)].map(([, name]) => quoteIdentifier(name!));
  const bytes = columns.map((name) => `coalesce(octet_length(${name}::text), 0)`).join(' + ');
  // A gin index has an entry for each item of an array, so each item has the size limit.
  const long =
    method === 'gin'
      ? `exists (select from unnest(${columns[0]}) as item where octet_length(item) > ${MAX_INDEXED_BYTES})`
      : `${bytes} > ${MAX_INDEXED_BYTES}`;
  return [
    `${columns.map((name) => `${table}.${name.slice(1, -1)}`).join(' with ')} gets an index, but some rows have values over its limit of ${MAX_INDEXED_BYTES} bytes`,
    `find them with: select "id" from ${quoteIdentifier(table)} where ${long}`,
  ];
}

/** Explains why a statement of a migration failed and what to do, one line each. The lines contain no values of rows. */
export function explainStatementFailure(statement: string, error: DatabaseError): string[] {
  const code = error.code ?? '';
  const [, table, terms] = UNIQUE_INDEX.exec(statement) ?? [];
  if (code === UNIQUE_VIOLATION && table !== undefined) return explainDuplicates(table, terms!);
  const [, indexed, method, entries] = INDEX.exec(statement) ?? [];
  if (code === TOO_LARGE && indexed !== undefined) return explainTooLongValues(indexed, method!, entries!);
  const [, changed, column, type] = TYPE_CHANGE.exec(statement) ?? [];
  if (changed !== undefined && code.startsWith(INVALID_VALUE))
    return [`${changed}.${column} has values that cannot be converted to ${type}`];
  // The message of an invalid value ends with the value, after a colon: leave it out, because it may be personal data.
  const message = code.startsWith(INVALID_VALUE) ? error.message.split(':')[0] : error.message;
  const first = statement.split('\n')[0]!;
  const text = `${first.length > 160 ? `${first.slice(0, 160)}…` : first}: ${message}`;
  return UNEXPECTED_SCHEMA.has(code)
    ? [text, 'the schema differs from the result of the earlier migrations. Was it changed by hand?']
    : [text];
}
