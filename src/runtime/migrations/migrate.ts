import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { Client } from 'pg';
import type { Logger } from '../../platform/observability/log.ts';
import { applyMigrations } from './apply.ts';
import type { DeclaredFacts } from './plan/declared.ts';
import type { MayDrop } from './plan/losses.ts';
import { syncDatabase } from './sync.ts';

/** How the database is migrated: `apply` runs the migrations of the project and of Belfry, `sync` makes it match the declarations. */
export interface MigrateOptions {
  mode: 'apply' | 'sync';
  /**
   * The folder of the project's migrations. Default for `apply`: `migrations` in the working directory. `sync` applies only the migrations in it
   * that were written by hand; left out, none.
   */
  folder?: string;
  /** For `apply`: called with a line for each applied migration. */
  say?: (line: string) => void;
  /**
   * For `sync`: which undeclared tables and columns are dropped. Default `empty`: those without values; others are refused.
   * Use `nothing` for a shared database.
   */
  mayDrop?: MayDrop;
}

// Building an index of a large table may take longer than any request. If the machine of an instance vanishes, its session would hold
// the lock for hours unless Postgres checks the connection.
const SESSION = `set statement_timeout = 0;
  set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3`;

// The key of the advisory lock: an arbitrary number that no other code locks in this database.
const LOCK = 7_203_915_642;
const POLL_MS = 200;
const POLLS_PER_LOG_LINE = 50;

/**
 * Waits until no other instance migrates. It polls, because a session that waits inside Postgres would have an
 * open transaction, and a concurrent index build waits for all open transactions.
 */
async function waitForMigrationLock(client: Client, log: Logger): Promise<void> {
  for (let polls = 0; ; polls++) {
    const { rows } = await client.query('select pg_try_advisory_lock($1) as mine', [LOCK]);
    if (rows[0].mine) return;
    if (polls % POLLS_PER_LOG_LINE === POLLS_PER_LOG_LINE - 1)
      log.info('another instance is migrating the database; waiting for it');
    await sleep(POLL_MS);
  }
}

/**
 * Migrates under an advisory lock: if several instances start at once, one migrates, and the others find nothing left to do.
 *
 * @param client a session of its own
 */
export async function migrateDatabase(
  client: Client,
  schema: { tables: Record<string, PgTable>; declared: DeclaredFacts },
  options: MigrateOptions,
  log: Logger,
): Promise<void> {
  await client.query(SESSION);
  await waitForMigrationLock(client, log);
  const { mode, folder, say = () => undefined, mayDrop = 'empty' } = options;
  try {
    if (mode === 'apply') await applyMigrations(client, folder ?? join(process.cwd(), 'migrations'), log, say);
    else await syncDatabase(client, schema, { mayDrop, folder }, log);
  } finally {
    // A pooler may keep the session. If the connection is lost, Postgres has released the lock.
    await client.query('select pg_advisory_unlock($1)', [LOCK]).catch(() => undefined);
  }
}
