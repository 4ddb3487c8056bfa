import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartupError } from '../../platform/config/environment.ts';

/** `meta/_journal.json`, as written by drizzle-kit. */
export interface Journal {
  version: string;
  dialect: 'postgresql';
  /** `when`: epoch ms, which identifies the migration in a database. */
  entries: { idx: number; version: string; when: number; tag: string; breakpoints: boolean }[];
}

/** A file of the migrations folder. */
export interface Migration {
  /** `0003_add_tasks`, `belfry/0001_device_tokens`: the file's path in the folder, without `.sql`. */
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

/**
 * The folder of Belfry's own migrations inside a migrations folder. They have their own journal: a fork that adds
 * migrations for its resources can merge a newer Belfry, because they share no file.
 */
export const FRAMEWORK_FOLDER = 'belfry';

/** `belfry/published.json`: the migrations that existing databases may have. */
interface Published {
  /** SHA-256 of each published migration by name; `npm run check` rejects a changed file. */
  hashes: Record<string, string>;
  /** `when` of earlier versions in epoch ms, by migration name, for migrations that were rewritten before this list existed. */
  earlier: Record<string, readonly number[]>;
}

const BREAKPOINT = '--> statement-breakpoint';
const NO_TRANSACTION = /^--\s*belfry:\s*no transaction\s*$/m;
const LEADING_COMMENTS = /^(\s*--.*(\n|$))+/;

/** The error for a JSON file of the migrations folder that cannot be parsed. */
function createMalformedFileError(file: string): StartupError {
  return new StartupError('The migrations cannot be read:', [
    `${file} was not written by npm run migration:generate. After a merge, keep one side's migrations and generate yours again`,
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
 * Reads the list of published migrations of a folder.
 *
 * @returns an empty list if there is none, as in a project without Belfry's own migrations
 * @throws StartupError if it is malformed
 */
export function readPublishedMigrations(folder: string): Published {
  return readJsonFile<Published>(join(folder, FRAMEWORK_FOLDER, 'published.json')) ?? { hashes: {}, earlier: {} };
}

/** Merges two journals by time. The entries of each journal keep their order, which may differ from the order of time. */
function mergeJournalsByTime<T extends { when: number }>(own: readonly T[], framework: readonly T[]): T[] {
  const merged: T[] = [];
  let at = 0;
  for (const entry of own) {
    while (at < framework.length && framework[at]!.when < entry.when) merged.push(framework[at++]!);
    merged.push(entry);
  }
  return [...merged, ...framework.slice(at)];
}

/**
 * Reads the migrations of a folder: the project's own and Belfry's, merged by the time at which they were generated.
 *
 * @throws StartupError if there are none, or if a file of a journal is missing
 */
export function readMigrations(folder: string): Migration[] {
  const journal = readJournal(folder);
  if (journal === undefined) {
    throw new StartupError('There are no migrations:', [
      `${folder} is empty. Generate the first migration with: npm run migration:generate`,
    ]);
  }
  const { earlier } = readPublishedMigrations(folder);
  const own = journal.entries.map(({ tag, when }) => ({ name: tag, when }));
  const framework = readJournal(join(folder, FRAMEWORK_FOLDER))?.entries ?? [];
  const entries = mergeJournalsByTime(
    own,
    framework.map(({ tag, when }) => ({ name: `${FRAMEWORK_FOLDER}/${tag}`, when })),
  );
  const missing: string[] = [];
  const migrations = entries.flatMap(({ name, when }): Migration[] => {
    try {
      return [parseMigration(name, when, earlier[name] ?? [], readFileSync(join(folder, `${name}.sql`), 'utf8'))];
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
