import { join } from 'node:path';
import type { Client } from 'pg';
import { StartupError } from '../../platform/helpers/config-errors.ts';
import type { Logger } from '../../platform/observability/log.ts';
import { explainFailureWithCounts } from './explain-failure.ts';
import { type Migration, padIndex, readJournal, readJsonFile, readMigrationFiles } from './journal.ts';
import type { Snapshot } from './plan/snapshot.ts';

/** A migration that the project wrote by hand: it leaves the declared tables as they are. */
interface OwnSql extends Migration {
  /** Whether later migrations change the declared tables. Names in the SQL may then no longer exist. */
  isOutdated: boolean;
}

/** Postgres's codes for objects that exist already, and for names that do not exist. */
const DUPLICATE = new Set(['42710', '42P07', '42723', '42701', '42P06']);
const UNDEFINED = new Set(['42703', '42P01', '42704', '42883']);

/** The tables that a snapshot describes, to compare them; undefined if the file is missing. */
function readTables(folder: string, index: number): string | undefined {
  const snapshot = readJsonFile<Snapshot>(join(folder, 'meta', `${padIndex(index)}_snapshot.json`));
  if (snapshot === undefined) return undefined;
  const { id: _id, prevId: _prevId, ...tables } = snapshot;
  return JSON.stringify(tables);
}

/** Whether a file contains the indexes and checks of the generated file before it. */
function isSecondPart(tag: string, previous: string | undefined): boolean {
  const nameOf = (one: string) => one.replace(/^\d+_/, '');
  return previous !== undefined && nameOf(tag) === `${nameOf(previous)}_indexes`;
}

/**
 * Reads the migrations of a project's folder that were written by hand: those after which the declared tables are the same as before.
 *
 * @returns empty if the folder has no migrations
 * @throws StartupError if a file of the journal is missing
 */
export function readOwnSql(folder: string): OwnSql[] {
  const journal = readJournal(folder);
  if (journal === undefined) return [];
  const { entries } = journal;
  const tables = entries.map(({ idx }) => readTables(folder, idx));
  const isOwn = entries.map(({ tag }, i) => {
    if (tables[i] === undefined) return true;
    return tables[i] === tables[i - 1] && !isSecondPart(tag, entries[i - 1]?.tag);
  });
  const last = isOwn.lastIndexOf(false);
  return readMigrationFiles(folder, journal, '', {})
    .map((migration, i) => ({ ...migration, isOutdated: i < last, isOwn: isOwn[i] }))
    .filter((one) => one.isOwn && one.statements.length > 0);
}

function createOwnSqlError(name: string, lines: readonly string[], wasChanged: boolean): StartupError {
  const fix = wasChanged
    ? 'the file was changed after it was applied to this database: undo its first version by hand, or start with an empty database (npx belfry dev --fresh)'
    : 'correct the file, or the rows that prevent it';
  return new StartupError(`The SQL of ${name}.sql cannot be applied; nothing was changed:`, [...lines, fix]);
}

/** Runs the statements of a migration, or none of them. Returns the statement that failed, with its error. */
async function tryStatements(client: Client, { statements }: Migration) {
  await client.query('savepoint own_sql');
  for (const statement of statements) {
    try {
      // A sync runs everything in one transaction. Postgres cannot build indexes concurrently there.
      await client.query(statement.replaceAll(/\bCONCURRENTLY\b/gi, ''));
    } catch (error) {
      await client.query('rollback to savepoint own_sql');
      return { statement, error: error as Error & { code?: string } };
    }
  }
  return undefined;
}

/**
 * Applies the SQL that the project wrote by hand and that this database lacks, in the transaction of a sync.
 *
 * @param applied the hashes of the migrations that the database has, by name
 * @returns the same after the statements
 * @throws StartupError if a statement fails
 */
export async function applyOwnSql(
  client: Client,
  migrations: readonly OwnSql[],
  applied: Readonly<Record<string, string>>,
  log: Logger,
): Promise<Record<string, string>> {
  const now = { ...applied };
  for (const migration of migrations) {
    const { name, hash, isOutdated } = migration;
    if (applied[name] === hash) continue;
    const failed = await tryStatements(client, migration);
    const code = failed?.error.code ?? '';
    const wasChanged = applied[name] !== undefined;
    if (isOutdated && UNDEFINED.has(code)) {
      const reason = failed!.error.message;
      log.warn(
        { migration: name, reason },
        'the SQL of a migration was left out: a later migration has renamed or dropped what it names. To have it in development and tests, repeat it in a new migration, in a form that can run twice',
      );
      continue;
    }
    // The developer has run the SQL by hand.
    if (failed !== undefined && (wasChanged || !DUPLICATE.has(code)))
      throw createOwnSqlError(name, await explainFailureWithCounts(client, failed.statement, failed.error), wasChanged);
    now[name] = hash;
  }
  return now;
}
