import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PgTable } from 'drizzle-orm/pg-core';
import pg from 'pg';
import type { Logger } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { apply } from './apply.ts';
import type { Declared } from './declared.ts';
import type { MayDrop } from './losses.ts';
import { sync } from './sync.ts';

/** How the database gets its tables: `apply` runs the migrations folder, `sync` makes it match the declarations. */
export interface MigrateOptions {
  mode: 'apply' | 'sync';
  /** Of `apply`. Default `migrations` in the working directory. */
  folder?: string;
  /** Of `apply`: called with a line for each migration that is applied. */
  say?: (line: string) => void;
  /**
   * Of `sync`: what of that which is no longer declared is dropped. Default `empty`: what holds no value, and the rest is refused.
   * `nothing` for a database that others use.
   */
  mayDrop?: MayDrop;
}

// A large table's index may take longer than any request is given. An instance whose machine vanished would hold the lock
// for hours if Postgres did not look whether it is still there.
const SESSION = `set statement_timeout = 0;
  set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3`;

// Any number that nothing else in this database locks.
const LOCK = 7_203_915_642;
const POLL_MS = 200;
const POLLS_PER_LOG_LINE = 50;

/**
 * Waits until no other instance migrates. It polls: a session that waits inside Postgres would have a
 * transaction open, and building an index concurrently waits for all of those.
 */
async function waitForLock(client: pg.Client, log: Logger): Promise<void> {
  for (let polls = 0; ; polls++) {
    const { rows } = await client.query('select pg_try_advisory_lock($1) as mine', [LOCK]);
    if (rows[0].mine) return;
    if (polls % POLLS_PER_LOG_LINE === POLLS_PER_LOG_LINE - 1)
      log.info('another instance migrates the database; waiting for it');
    await sleep(POLL_MS);
  }
}

/** Migrates under an advisory lock: of several instances that start at once, one works and the others find it done. */
export async function migrateDatabase(
  database: Database,
  schema: { tables: Record<string, PgTable>; declared: Declared },
  options: MigrateOptions,
  log: Logger,
): Promise<void> {
  const client = new pg.Client({ ...database.pool.options, statement_timeout: 0, query_timeout: 0 });
  // The statement that runs reports a lost connection; between two of them it must not end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(SESSION);
    await waitForLock(client, log);
    const { mode, folder = join(process.cwd(), 'migrations'), say = () => undefined, mayDrop = 'empty' } = options;
    if (mode === 'apply') await apply(client, folder, log, say);
    else await sync(client, schema, mayDrop, log);
  } finally {
    // Ends the session, and with it the lock.
    await client.end();
  }
}
