import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartupError } from '../../platform/environment.ts';

/** `meta/_journal.json`, as drizzle-kit writes it. */
export interface Journal {
  version: string;
  dialect: 'postgresql';
  /** `when`: epoch ms, by which a database knows that it has a migration. */
  entries: { idx: number; version: string; when: number; tag: string; breakpoints: boolean }[];
}

/** One file of the migrations folder. */
export interface Migration {
  /** `0003_add_tasks`: the file's name without `.sql`. */
  name: string;
  /** Epoch ms, by which a database knows that it has it. */
  when: number;
  sql: string;
  /** SHA-256 of the text. */
  hash: string;
  statements: readonly string[];
  /** Whether it runs in one transaction: false when it says `-- belfry: no transaction`. */
  transaction: boolean;
}

const BREAKPOINT = '--> statement-breakpoint';
const NO_TRANSACTION = /^--\s*belfry:\s*no transaction\s*$/m;
const LEADING_COMMENTS = /^(\s*--.*(\n|$))+/;

/** What may be said of a JSON file that cannot be read as one. */
function malformed(file: string): StartupError {
  return new StartupError('The migrations cannot be read:', [
    `${file} is not what npm run migration:generate wrote; after a merge take one side's migrations and make yours anew`,
  ]);
}

/**
 * Reads a JSON file of the migrations folder.
 *
 * @returns undefined when there is no such file
 * @throws StartupError when it is malformed
 */
export function readJson<T>(file: string): T | undefined {
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
    throw malformed(file);
  }
}

/**
 * Reads the journal of a migrations folder.
 *
 * @returns undefined when there is none
 * @throws StartupError when it is malformed
 */
export function readJournal(folder: string): Journal | undefined {
  const file = join(folder, 'meta', '_journal.json');
  const journal = readJson<Journal>(file);
  if (journal === undefined) return undefined;
  const { entries } = journal;
  if (!Array.isArray(entries) || entries.some(({ tag, when }) => typeof tag !== 'string' || !Number.isInteger(when)))
    throw malformed(file);
  for (const name of ['tag', 'when'] as const) {
    if (new Set(entries.map((entry) => entry[name])).size < entries.length) throw malformed(file);
  }
  return journal;
}

/**
 * Reads the migrations of a folder, in order.
 *
 * @throws StartupError when there are none, or one of the journal is missing
 */
export function readMigrations(folder: string): Migration[] {
  const journal = readJournal(folder);
  if (journal === undefined) {
    throw new StartupError('There are no migrations:', [
      `${folder} is empty; make the first with: npm run migration:generate`,
    ]);
  }
  const missing: string[] = [];
  const migrations = journal.entries.flatMap(({ tag, when }): Migration[] => {
    try {
      return [readMigration(tag, when, readFileSync(join(folder, `${tag}.sql`), 'utf8'))];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      missing.push(`${tag}.sql is named in meta/_journal.json and is not there: put it back from version control`);
      return [];
    }
  });
  if (missing.length > 0) throw new StartupError('The migrations are not complete:', missing);
  return migrations;
}

function readMigration(name: string, when: number, text: string): Migration {
  // A checkout may give the same file other line ends.
  const sql = text.replaceAll('\r\n', '\n');
  const statements = sql.split(BREAKPOINT).map((statement) => statement.replace(LEADING_COMMENTS, '').trim());
  return {
    name,
    when,
    sql,
    hash: createHash('sha256').update(sql).digest('hex'),
    statements: statements.filter((statement) => statement !== ''),
    transaction: !NO_TRANSACTION.test(sql),
  };
}
