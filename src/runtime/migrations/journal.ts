import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartupError } from '../../platform/helpers/config-errors.ts';

/** `meta/_journal.json`, as written by drizzle-kit. */
export interface Journal {
  version: string;
  dialect: 'postgresql';
  /** `when`: epoch ms, which identifies the migration in a database. */
  entries: { idx: number; version: string; when: number; tag: string; breakpoints: boolean }[];
}

/** A migration: a file of the project, or one of Belfry's own. */
export interface Migration {
  /** `0003_add_tasks`; with `belfry/` in front if it is one of Belfry's own: `belfry/0003_requested_deliveries`. */
  name: string;
  /** Epoch ms, which identifies the migration in a database. */
  when: number;
  sql: string;
  /** SHA-256 of `sql` in hex. */
  hash: string;
  statements: readonly string[];
  /** `when` of earlier versions, in epoch ms. A database with one of these versions counts as having this migration. */
  earlier: readonly number[];
  /** Whether the migration runs in one transaction; false if its file says `-- belfry: no transaction`. */
  transaction: boolean;
}

const BREAKPOINT = '--> statement-breakpoint';
const NO_TRANSACTION = /^--\s*belfry:\s*no transaction\s*$/m;
const LEADING_COMMENTS = /^(\s*--.*(\n|$))+/;

/** Returns the number of a migration as in the names of its files: `0003`. */
export function padIndex(index: number): string {
  return String(index).padStart(4, '0');
}

/** The error for a JSON file of the migrations folder that cannot be parsed. */
function createMalformedFileError(file: string): StartupError {
  return new StartupError('The migrations cannot be read:', [
    `${file} was not written by npx belfry migration generate. After a merge, keep one side's migrations and generate yours again`,
  ]);
}

/**
 * Reads a JSON file of the migrations folder.
 *
 * @returns undefined if there is no such file
 * @throws StartupError if it is malformed
 */
export function readJsonFile<T>(file: string): T | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as T;
  } catch {
    throw createMalformedFileError(file);
  }
}

/**
 * Reads the journal of a migrations folder.
 *
 * @returns undefined if the folder has no journal
 * @throws StartupError if the journal is malformed
 */
export function readJournal(folder: string): Journal | undefined {
  const file = join(folder, 'meta', '_journal.json');
  const journal = readJsonFile<Journal>(file);
  if (journal === undefined) return undefined;
  const { entries } = journal;
  if (!Array.isArray(entries) || entries.some(({ tag, when }) => typeof tag !== 'string' || !Number.isInteger(when)))
    throw createMalformedFileError(file);
  for (const name of ['tag', 'when'] as const) {
    if (new Set(entries.map((entry) => entry[name])).size < entries.length) throw createMalformedFileError(file);
  }
  return journal;
}

/**
 * Reads the files of a folder's journal, in the order of the journal.
 *
 * @param prefix stands before the names of the files
 * @param earlier `when` of earlier versions, by name
 * @throws StartupError if a file is missing
 */
export function readMigrationFiles(
  folder: string,
  { entries }: Journal,
  prefix: string,
  earlier: Readonly<Record<string, readonly number[]>>,
): Migration[] {
  const missing: string[] = [];
  const migrations = entries.flatMap(({ tag, when }): Migration[] => {
    const name = `${prefix}${tag}`;
    try {
      return [parseMigration(name, when, earlier[name] ?? [], readFileSync(join(folder, `${tag}.sql`), 'utf8'))];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      missing.push(`${name}.sql is listed in its meta/_journal.json but missing: restore it from version control`);
      return [];
    }
  });
  if (missing.length > 0) throw new StartupError('Migration files are missing:', missing);
  return migrations;
}

function parseMigration(name: string, when: number, earlier: readonly number[], text: string): Migration {
  // Git may change the line endings of the file at a checkout; the hash must stay the same.
  const sql = text.replaceAll('\r\n', '\n');
  const statements = sql.split(BREAKPOINT).map((statement) => statement.replace(LEADING_COMMENTS, '').trim());
  return {
    name,
    when,
    sql,
    hash: createHash('sha256').update(sql).digest('hex'),
    statements: statements.filter((statement) => statement !== ''),
    earlier,
    transaction: !NO_TRANSACTION.test(sql),
  };
}
