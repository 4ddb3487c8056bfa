import { quoteIdentifier } from '../../platform/postgres/quote-identifier.ts';

/** An error of Postgres (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
interface DatabaseError extends Error {
  code?: string;
}

const UNIQUE_VIOLATION = '23505';
const INVALID_VALUE = '22';
/** Undefined or already there: columns, tables, indexes, constraints. */
const NOT_AS_LEFT = new Set(['42703', '42P01', '42701', '42P07', '42704', '42710']);

const UNIQUE_INDEX = /^CREATE UNIQUE INDEX (?:CONCURRENTLY )?"[^"]+" ON "([^"]+)" USING \w+ \((.+?)\)/;
const TYPE_CHANGE = /^ALTER TABLE "([^"]+)" ALTER COLUMN "([^"]+)" SET DATA TYPE (.+?)(?: USING|;|$)/;

function duplicates(table: string, terms: string): string[] {
  const columns = [...terms.matchAll(/"([^"]+)"/g)].map(([, name]) => name!);
  const list = columns.map(quoteIdentifier).join(', ');
  const there = columns.map((name) => `${quoteIdentifier(name)} is not null`).join(' and ');
  return [
    `${columns.map((name) => `${table}.${name}`).join(' with ')} is to be unique, and rows have the same values`,
    `find them with: select ${list}, count(*) from ${quoteIdentifier(table)} where ${there} group by ${list} having count(*) > 1`,
  ];
}

/** Why a statement of a migration failed and what to do, a line each. Values of rows are not shown. */
export function explainFailure(statement: string, error: DatabaseError): string[] {
  const code = error.code ?? '';
  const [, table, terms] = UNIQUE_INDEX.exec(statement) ?? [];
  if (code === UNIQUE_VIOLATION && table !== undefined) return duplicates(table, terms!);
  const [, changed, column, type] = TYPE_CHANGE.exec(statement) ?? [];
  if (changed !== undefined && code.startsWith(INVALID_VALUE))
    return [`${changed}.${column} holds values that cannot be turned into ${type}`];
  // The text of such an error ends with the value.
  const message = code.startsWith(INVALID_VALUE) ? error.message.split(':')[0] : error.message;
  const first = statement.split('\n')[0]!;
  const said = `${first.length > 160 ? `${first.slice(0, 160)}…` : first}: ${message}`;
  return NOT_AS_LEFT.has(code)
    ? [said, 'the database is not as the migrations left it: was it changed by hand?']
    : [said];
}
