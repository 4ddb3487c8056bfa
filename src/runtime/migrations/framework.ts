import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { StartupError } from '../../platform/helpers/config-errors.ts';
import { type Journal, type Migration, readJournal, readJsonFile, readMigrationFiles } from './journal.ts';

/** Stands before the names of Belfry's own migrations. Also the name of their folder. */
const PREFIX = 'belfry/';

/** The folder of Belfry's own migrations. It is part of the package, at the same distance from src/ and dist/. */
export const FRAMEWORK_MIGRATIONS = join(import.meta.dirname, '..', '..', '..', 'migrations', PREFIX);

/** `published.json`: the migrations that existing databases may have. */
interface Published {
  /** SHA-256 of each published migration by name; `npm run check` rejects a changed file. */
  hashes: Record<string, string>;
  /** `when` of earlier versions in epoch ms, by migration name, for migrations that were rewritten before this list existed. */
  earlier: Record<string, readonly number[]>;
}

/** Whether a migration is one of Belfry's own. */
export function isFrameworkMigration({ name }: Pick<Migration, 'name'>): boolean {
  return name.startsWith(PREFIX);
}

/** Reads the list of published migrations. @throws StartupError if it is malformed */
export function readPublishedMigrations(folder = FRAMEWORK_MIGRATIONS): Published {
  return readJsonFile<Published>(join(folder, 'published.json')) ?? { hashes: {}, earlier: {} };
}

/** Reads the journal of Belfry's own migrations. @throws StartupError if the package is incomplete */
export function readFrameworkJournal(): Journal {
  const journal = readJournal(FRAMEWORK_MIGRATIONS);
  if (journal !== undefined) return journal;
  throw new StartupError("Belfry's own migrations are missing:", [
    `${FRAMEWORK_MIGRATIONS} is part of the package belfry. Install the package again, and do not bundle it into another file`,
  ]);
}

/** Reads Belfry's own migrations, in order. @throws StartupError if the package is incomplete */
export function readFrameworkMigrations(): Migration[] {
  return readMigrationFiles(FRAMEWORK_MIGRATIONS, readFrameworkJournal(), PREFIX, {});
}

/**
 * Describes what to do about a copy of Belfry's migrations in the folder of a project, such as in an earlier fork of the repository. The
 * copy is not read.
 *
 * @returns undefined if there is none
 */
export function describeFrameworkCopy(folder: string): string | undefined {
  const copy = join(folder, PREFIX);
  if (!existsSync(copy) || realpathSync(copy) === realpathSync(FRAMEWORK_MIGRATIONS)) return undefined;
  const known = new Set(readFrameworkJournal().entries.map(({ when }) => when));
  const others = (readJournal(copy)?.entries ?? []).filter(({ when }) => !known.has(when));
  if (others.length === 0)
    return `${copy} is not used: Belfry's migrations are part of the package. Delete the folder.`;
  const names = others.map(({ tag }) => `${tag}.sql`).join(', ');
  return `${copy} is not used: Belfry's migrations are part of the package, but without ${names}. Move these statements to a migration of your own (npx belfry migration generate <name> --empty), then delete the folder.`;
}
