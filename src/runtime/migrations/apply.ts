import type { Client } from 'pg';
import { StartupError } from '../../platform/environment.ts';
import type { Logger } from '../../platform/log.ts';
import { applyMigration } from './apply-migration.ts';
import { type Migration, readMigrations } from './journal.ts';
import { migrationState } from './state.ts';
import { isSynced } from './sync.ts';

// As drizzle's migrator has it, so that either can go on where the other stopped.
const TABLE = `create schema if not exists drizzle;
  create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`;

// Two seconds are shorter than any request waits; a minute and a half is longer than most transactions last.
const PATIENCE = { lockMs: 2000, pauseMs: 1000, tries: 30 };

function editedFault(edited: readonly Migration[]): StartupError {
  const lines = edited.map(
    ({ name }) => `${name}.sql: put it back as it was, and write what it should do in a new one`,
  );
  return new StartupError('Migrations were changed after this database got them:', lines);
}

/**
 * Applies the migrations of a folder that the database does not have, in order: each all or nothing, unless its file says
 * otherwise. One that came late, by a merge, is applied as well.
 *
 * @param say called with a line for each migration that is applied
 * @throws StartupError when there are none, one fails, one was edited after it was applied, or sync keeps the database
 */
export async function apply(client: Client, folder: string, log: Logger, say: (line: string) => void): Promise<void> {
  const migrations = readMigrations(folder);
  if (await isSynced(client)) {
    throw new StartupError('The database is kept by sync (npm run dev), which migrations do not fit on:', [
      'name another database in DATABASE_URL, or empty this one',
    ]);
  }
  await client.query(TABLE);
  const { pending, edited, unknown } = await migrationState(client, migrations);
  if (edited.length > 0) throw editedFault(edited);
  if (unknown > 0) log.warn(`the database is ahead of this code, which does not know ${unknown} of its migrations`);
  for (const migration of pending) {
    const begun = performance.now();
    await applyMigration(client, migration, PATIENCE, log);
    log.info({ migration: migration.name, ms: Math.round(performance.now() - begun) }, 'a migration was applied');
    say(`${migration.name} applied`);
  }
}
