import type { Client } from 'pg';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { MAX_INDEXED_BYTES } from '../../records/fields/text-rules.ts';
import { danglingReferenceCondition, findDanglingReferencesSql } from './dangling-references.ts';

/** An error of Postgres (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
interface DatabaseError extends Error {
  code?: string;
}

const UNIQUE_VIOLATION = '23505';
const FOREIGN_KEY_VIOLATION = '23503';
const CHECK_VIOLATION = '23514';
const EXCLUSION_VIOLATION = '23P01';
/** Postgres's codes for an extension that the role may not create, or that is not installed on the server. */
const UNAVAILABLE_EXTENSION = new Set(['42501', '0A000', '58P01']);
const INVALID_VALUE = '22';
/** Postgres's code for an exceeded limit: for an index, the value is too large. */
const TOO_LARGE = '54000';
/** Postgres's codes for undefined or duplicate columns, tables, indexes and constraints. */
const UNEXPECTED_SCHEMA = new Set(['42703', '42P01', '42701', '42P07', '42704', '42710']);

const UNIQUE_INDEX = /^CREATE UNIQUE INDEX (?:CONCURRENTLY )?"[^"]+" ON "([^"]+)" USING \w+ \((.+?)\)/;
const INDEX = /^CREATE (?:UNIQUE )?INDEX (?:CONCURRENTLY )?"[^"]+" ON "([^"]+)" USING (\w+) \((.+?)\)/;
const VALIDATION = /^ALTER TABLE "([^"]+)" VALIDATE CONSTRAINT "([^"]+)"/;

const CREATE_EXTENSION = /^CREATE EXTENSION IF NOT EXISTS (\w+)/i;
const EXCLUSION = /^ALTER TABLE "([^"]+)" ADD CONSTRAINT "([^"]+)" EXCLUDE USING gist \((.*?)\)(?: WHERE \((.*)\))?;$/s;
const EXCLUSION_TERM = /(\(?"[^"]+"(?:::int\))?|\w+\("[^"]+"[^()]*\)) WITH (=|&&)/g;

/** The condition of a check. $1 its name, $2 its table. */
const SELECT_CHECK = `
  select pg_get_expr(k.conbin, k.conrelid) as condition from pg_constraint k join pg_class c on c.oid = k.conrelid
   where k.conname = $1 and c.relname = $2 and k.contype = 'c' and c.relnamespace = (select oid from pg_namespace where nspname = current_schema())`;

/** The column and the target of a foreign key. $1 its name, $2 its table. */
const SELECT_FOREIGN_KEY = `
  select a.attname as "column", t.relname as target
    from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class t on t.oid = k.confrelid
    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
   where k.conname = $1 and c.relname = $2 and k.contype = 'f' and c.relnamespace = (select oid from pg_namespace where nspname = current_schema())`;

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

/** Explains why a foreign key refused existing rows. Returns undefined if a statement failed for another reason. */
async function explainDanglingReferences(
  client: Client,
  statement: string,
  { code }: DatabaseError,
): Promise<string[] | undefined> {
  const [, table, name] = VALIDATION.exec(statement) ?? [];
  if (code !== FOREIGN_KEY_VIOLATION || table === undefined) return undefined;
  const { rows } = await client.query<{ column: string; target: string }>(SELECT_FOREIGN_KEY, [name, table]);
  const [key] = rows;
  if (key === undefined) return undefined;
  const reference = { table, ...key };
  const counted = await client.query<{ count: number }>(
    `select count(*)::int as count from ${quoteIdentifier(table)} where ${danglingReferenceCondition(reference)}`,
  );
  const { count } = counted.rows[0]!;
  const found = count === 1 ? '1 row refers' : `${count} rows refer`;
  return [
    `${table}.${key.column} must refer to existing rows of ${key.target}, but ${found} to missing ones`,
    `find them with: ${findDanglingReferencesSql(reference)}`,
  ];
}

/** Explains why a check refused existing rows. Returns undefined if a statement failed for another reason. */
async function explainBrokenCheck(
  client: Client,
  statement: string,
  { code }: DatabaseError,
): Promise<string[] | undefined> {
  const [, table, name] = VALIDATION.exec(statement) ?? [];
  if (code !== CHECK_VIOLATION || table === undefined) return undefined;
  const { rows } = await client.query<{ condition: string }>(SELECT_CHECK, [name, table]);
  const [check] = rows;
  if (check === undefined) return undefined;
  const where = `${quoteIdentifier(table)} where not ${check.condition}`;
  const counted = await client.query<{ count: number }>(`select count(*)::int as count from ${where}`);
  const { count } = counted.rows[0]!;
  return [
    `${table} must meet the constraint ${name}, but ${count === 1 ? '1 row breaks' : `${count} rows break`} it`,
    `find them with: select "id" from ${where}`,
  ];
}

/** Explains why an exclusion constraint refused existing rows. */
function explainConflicts(table: string, name: string, terms: string, where: string | undefined): string[] {
  const ofRow = (row: string, sql: string) => sql.replaceAll(/"[^"]+"/g, (column) => `${row}.${column}`);
  const same = [...terms.matchAll(EXCLUSION_TERM)].map(
    ([, value, operator]) => `${ofRow('a', value!)} ${operator === '=' ? '=' : '&&'} ${ofRow('b', value!)}`,
  );
  const limits = where === undefined ? [] : ['a', 'b'].map((row) => `(${ofRow(row, where)})`);
  const quoted = quoteIdentifier(table);
  return [
    `${table} must meet the constraint ${name}, but some rows conflict`,
    `find them with: select a."id", b."id" from ${quoted} a join ${quoted} b on a."id" < b."id" and ${[...same, ...limits].join(' and ')}`,
  ];
}

/**
 * Like `explainStatementFailure`, and counts the rows that prevent a foreign key or a check.
 *
 * @param client a session that has rolled back the failed statement and where the foreign key or the check exists
 */
export async function explainFailureWithCounts(
  client: Client,
  statement: string,
  error: DatabaseError,
): Promise<string[]> {
  // If counting fails too, the first error is the more useful one.
  const dangling = await explainDanglingReferences(client, statement, error).catch(() => undefined);
  const broken = await explainBrokenCheck(client, statement, error).catch(() => undefined);
  return dangling ?? broken ?? explainStatementFailure(statement, error);
}

/** Explains why a statement of a migration failed and what to do, one line each. The lines contain no values of rows. */
function explainStatementFailure(statement: string, error: DatabaseError): string[] {
  const code = error.code ?? '';
  const [, table, terms] = UNIQUE_INDEX.exec(statement) ?? [];
  if (code === UNIQUE_VIOLATION && table !== undefined) return explainDuplicates(table, terms!);
  const [, indexed, method, entries] = INDEX.exec(statement) ?? [];
  if (code === TOO_LARGE && indexed !== undefined) return explainTooLongValues(indexed, method!, entries!);
  const [, extension] = CREATE_EXTENSION.exec(statement) ?? [];
  if (extension !== undefined && UNAVAILABLE_EXTENSION.has(code))
    return [
      `the extension ${extension} cannot be created: ${error.message}`,
      `install it on the server (on Debian in the package postgresql-contrib), or run as a superuser: create extension ${extension}`,
    ];
  const [, excluded, constraint, conflicting, where] = EXCLUSION.exec(statement) ?? [];
  if (code === EXCLUSION_VIOLATION && excluded !== undefined)
    return explainConflicts(excluded, constraint!, conflicting!, where);
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
