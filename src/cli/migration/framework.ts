import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FRAMEWORK_FOLDER, readPublishedMigrations } from '../../runtime/migrations/journal.ts';
import type { DeclaredFacts } from '../../runtime/migrations/plan/declared.ts';
import type { Snapshot } from '../../runtime/migrations/plan/snapshot.ts';
import { readLastSnapshot } from './files.ts';

/**
 * Returns the tables of Belfry's own migrations, as keys of a snapshot. The project's migrations leave them alone, even if an
 * older snapshot of the project contains them.
 *
 * @param folder the folder of the project's migrations
 * @returns an empty set if there are no migrations of Belfry's own; then the project's migrations contain all tables
 */
export function readFrameworkTables(folder: string): ReadonlySet<string> {
  return new Set(Object.keys(readLastSnapshot(join(folder, FRAMEWORK_FOLDER))?.tables ?? {}));
}

function filterTables(snapshot: Snapshot, keep: (key: string) => boolean): Snapshot {
  return { ...snapshot, tables: Object.fromEntries(Object.entries(snapshot.tables).filter(([key]) => keep(key))) };
}

/** Returns the project's part of a snapshot. */
export function removeFrameworkTables(snapshot: Snapshot, framework: ReadonlySet<string>): Snapshot {
  return filterTables(snapshot, (key) => !framework.has(key));
}

/** Returns Belfry's part of a snapshot: every table that belongs to no resource. */
export function keepFrameworkTables({ belfry: _, ...snapshot }: Snapshot, declared: DeclaredFacts): Snapshot {
  return filterTables(snapshot, (key) => !declared.tables.has(key.replace('public.', '')));
}

/** Adds migrations of Belfry's own to the list of published ones. @param folder `migrations/belfry` */
export function addToPublished(folder: string, names: readonly string[]): void {
  const published = readPublishedMigrations(join(folder, '..'));
  for (const name of names) {
    const text = readFileSync(join(folder, `${name}.sql`), 'utf8');
    published.hashes[`${FRAMEWORK_FOLDER}/${name}`] = createHash('sha256').update(text).digest('hex');
  }
  writeFileSync(join(folder, 'published.json'), `${JSON.stringify(published, null, 2)}\n`);
}
