import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { readMigrations } from './journal.ts';
import { migrationState } from './state.ts';

/**
 * Says in the log that the database has migrations that this code does not know, as after a deploy that was taken back. It
 * is no fault as long as everything that is declared is there.
 */
export async function warnIfAhead(database: Database, log: Logger): Promise<void> {
  const folder = join(process.cwd(), 'migrations');
  if (!existsSync(join(folder, 'meta', '_journal.json'))) return;
  try {
    const { applied, unknown } = await migrationState(database.pool, readMigrations(folder));
    // A database with none of these migrations is that of something else, as in tests.
    if (applied.length > 0 && unknown > 0)
      log.warn(`the database is ahead of this code, which does not know ${unknown} of its migrations`);
  } catch (error) {
    // The role of the app may have no right to look: nothing depends on it.
    log.warn({ err: error }, 'could not find out whether the database is ahead of this code');
  }
}
