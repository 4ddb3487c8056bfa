import { join } from 'node:path';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { Logger } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { apply } from './apply.ts';
import { sync } from './sync.ts';

/** How the database gets its tables: `apply` runs the migrations folder, `sync` makes it match the declarations. */
export interface MigrateOptions {
  mode: 'apply' | 'sync';
  /** Of `apply`. Default `migrations` in the working directory. */
  folder?: string;
  /** Of `sync`: whether what is no longer declared is dropped. Default true; false for a database that others use. */
  mayLose?: boolean;
}

// Any number that nothing else in this database locks.
const LOCK = 7_203_915_642;

/** Migrates under an advisory lock: of several instances that start at once, one works and the others find it done. */
export async function migrateDatabase(
  database: Database,
  tables: Record<string, PgTable>,
  options: MigrateOptions,
  log: Logger,
): Promise<void> {
  const client = await database.pool.connect();
  // The statement that runs reports a lost connection; between two of them it must not end the process.
  client.on('error', () => undefined);
  try {
    // A large table's index may take longer than any request is given.
    await client.query('set statement_timeout = 0');
    await client.query('select pg_advisory_lock($1)', [LOCK]);
    if (options.mode === 'apply') await apply(client, options.folder ?? join(process.cwd(), 'migrations'));
    else await sync(client, tables, options.mayLose ?? true, log);
  } finally {
    // Ends the session, and with it the lock and the setting.
    client.release(true);
  }
}
