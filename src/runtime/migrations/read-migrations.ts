import { join } from 'node:path';
import { StartupError } from '../../platform/helpers/config-errors.ts';
import { readFrameworkMigrations, readPublishedMigrations } from './framework.ts';
import { type Migration, padIndex, readJournal, readJsonFile, readMigrationFiles } from './journal.ts';
import type { Snapshot } from './plan/snapshot.ts';

const CREATE_TABLE = /^CREATE TABLE (?:IF NOT EXISTS )?"([^"]+)"/i;

function createdTables({ statements }: Migration): string[] {
  return statements.flatMap((statement) => CREATE_TABLE.exec(statement)?.[1] ?? []);
}

/** Returns the tables that the project owned after a migration. Empty if its snapshot is missing, which only matters for old migrations. */
function readOwnedTables(folder: string, index: number): ReadonlySet<string> {
  const snapshot = readJsonFile<Snapshot>(join(folder, 'meta', `${padIndex(index)}_snapshot.json`));
  return new Set(Object.values(snapshot?.tables ?? {}).map(({ name }) => name));
}

/**
 * Merges the migrations of a project and Belfry's own by time. Each list keeps its order, which may differ from the order of time.
 *
 * A table of Belfry may earlier have been a table of the project: the project's migrations created and changed it, until an upgrade of
 * Belfry brought a migration that took it over. That upgrade may be later than the time of Belfry's migration. The migration therefore runs
 * after the last migration of the project that still had the table; otherwise the project's migrations would find the table in a newer
 * form.
 *
 * @param readOwned returns the tables that the project owned after one of its migrations
 */
function mergeByTime(
  own: readonly Migration[],
  framework: readonly Migration[],
  readOwned: (index: number) => ReadonlySet<string>,
): Migration[] {
  const createdByOwn = own.map(createdTables);
  /** Returns the index of the last own migration that had one of these tables; -1 if none did. */
  function findLastOwner(tables: readonly string[]): number {
    const isTaken = (name: string) => tables.includes(name);
    const creator = createdByOwn.findLastIndex((names) => names.some(isTaken));
    if (creator === -1) return -1;
    return Math.max(
      creator,
      own.findLastIndex((_, index) => tables.some((name) => readOwned(index).has(name))),
    );
  }
  const after = framework.map((migration) => findLastOwner(createdTables(migration)));
  const merged: Migration[] = [];
  let at = 0;
  for (const [index, migration] of own.entries()) {
    while (at < framework.length && framework[at]!.when < migration.when && after[at]! < index)
      merged.push(framework[at++]!);
    merged.push(migration);
  }
  return [...merged, ...framework.slice(at)];
}

/** Reads the migrations of a project's folder, without Belfry's own. @throws StartupError if there are none, or if a file is missing */
function readOwnMigrations(folder: string): { migrations: Migration[]; indexes: number[] } {
  const journal = readJournal(folder);
  if (journal === undefined || journal.entries.length === 0) {
    throw new StartupError('There are no migrations:', [
      `${folder} contains none. Generate the first one with npx belfry migration generate init, or restore the folder from version control`,
    ]);
  }
  const migrations = readMigrationFiles(folder, journal, '', readPublishedMigrations().earlier);
  return { migrations, indexes: journal.entries.map(({ idx }) => idx) };
}

/**
 * Reads all migrations of a project: those in its folder, and Belfry's own from the package. Returns them in the order in which an empty
 * database gets them.
 *
 * @throws StartupError if the project has none, or if a file of a journal is missing
 */
export function readMigrations(folder: string): Migration[] {
  const { migrations, indexes } = readOwnMigrations(folder);
  const owned = new Map<number, ReadonlySet<string>>();
  return mergeByTime(migrations, readFrameworkMigrations(), (index) => {
    const tables = owned.get(index) ?? readOwnedTables(folder, indexes[index]!);
    owned.set(index, tables);
    return tables;
  });
}
