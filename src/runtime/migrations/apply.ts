import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { StartupError } from '../../platform/helpers/config-errors.ts';
import type { Logger } from '../../platform/observability/log.ts';
import { explainFailureWithCounts } from './explain-failure.ts';
import { describeFrameworkCopy, isFrameworkMigration } from './framework.ts';
import type { Migration } from './journal.ts';
import { readMigrations } from './read-migrations.ts';
import { readMigrationState } from './state.ts';
import { refuseSyncedDatabase } from './sync.ts';

// The table of applied migrations. Drizzle's migrator uses the same table, so each can continue the work of the other.
const TABLE = `create schema if not exists drizzle;
  create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`;

// Waits 2 s for a lock, less than requests wait, and tries again for a minute and a half, longer than most transactions take.
const LOCK_RETRY = { lockMs: 2000, pauseMs: 1000, tries: 30 };

function createEditedMigrationError(edited: readonly Migration[]): StartupError {
  const lines = edited.map((migration) => {
    const { name, hash, when } = migration;
    if (!isFrameworkMigration(migration))
      return `${name}.sql: restore the file, and put the change into a new migration`;
    return `${name}.sql: the database was migrated with a changed copy of it. Give the tables the form that this version creates, then run: update drizzle.__drizzle_migrations set hash = '${hash}' where created_at = ${when}`;
  });
  return new StartupError('Migrations were changed after they were applied to this database:', lines);
}

/**
 * Applies the project's and Belfry's own migrations that the database lacks, in order. Each is applied all or nothing, unless its file opts
 * out. A migration that a merge added with an earlier time is applied as well.
 *
 * @param onApplied called with a line for each applied migration
 * @throws StartupError if there are no migrations, one fails, one was edited after it was applied, or sync manages the database
 */
export async function applyMigrations(
  client: Client,
  folder: string,
  log: Logger,
  onApplied: (line: string) => void,
): Promise<void> {
  const migrations = readMigrations(folder);
  const notice = describeFrameworkCopy(folder);
  if (notice !== undefined) log.warn(notice);
  await refuseSyncedDatabase(client);
  await client.query(TABLE);
  const { pending, edited, unknown } = await readMigrationState(client, migrations);
  if (edited.length > 0) throw createEditedMigrationError(edited);
  if (unknown > 0) log.warn(`newer code has migrated the database; migrations unknown to this version: ${unknown}`);
  for (const migration of pending) {
    const startedAt = performance.now();
    await applyMigration(client, migration, LOCK_RETRY, log);
    log.info({ migration: migration.name, ms: Math.round(performance.now() - startedAt) }, 'a migration was applied');
    onApplied(`${migration.name} applied`);
  }
}

/** How long a statement waits for a lock (`lockMs`), the pause before it is tried again, and the maximum number of tries. */
interface LockRetry {
  lockMs: number;
  pauseMs: number;
  tries: number;
}

const LOCK_NOT_AVAILABLE = '55P03';
const DEADLOCK = '40P01';
const RECORD_APPLIED = 'insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, $2)';
const BUILDS_INDEX =
  /^\s*CREATE\s+(?:UNIQUE\s+)?INDEX\s+CONCURRENTLY\s+(?:IF\s+NOT\s+EXISTS\s+)?"?([^"\s]+)"?\s+ON\b/im;

/** Thrown when a statement of a migration fails; contains the statement. */
class StatementError extends Error {
  readonly statement: string;
  readonly failure: Error & { code?: string };

  constructor(statement: string, failure: Error & { code?: string }) {
    super(failure.message, { cause: failure });
    this.statement = statement;
    this.failure = failure;
  }
}

async function runStatement(client: Client, statement: string): Promise<void> {
  try {
    await client.query(statement);
  } catch (error) {
    throw new StatementError(statement, error as Error);
  }
}

/** Runs `work`, and retries it while another session holds a lock that it needs. */
async function retryOnLock(name: string, lockRetry: LockRetry, log: Logger, work: () => Promise<void>): Promise<void> {
  for (let tried = 1; ; tried++) {
    try {
      await work();
      return;
    } catch (error) {
      const code = error instanceof StatementError ? error.failure.code : undefined;
      if ((code !== LOCK_NOT_AVAILABLE && code !== DEADLOCK) || tried === lockRetry.tries) throw error;
      log.warn(
        `migration ${name} is waiting for a lock that another session holds; trying again (${tried} of ${lockRetry.tries})`,
      );
      await sleep(lockRetry.pauseMs);
    }
  }
}

async function applyInTransaction(client: Client, migration: Migration, lockRetry: LockRetry): Promise<void> {
  await client.query('begin');
  try {
    // A migration that waits for a table lock blocks every later statement on the table, so give up early and retry.
    await client.query(`set local lock_timeout = ${lockRetry.lockMs}`);
    for (const statement of migration.statements) await runStatement(client, statement);
    await client.query(RECORD_APPLIED, [migration.hash, migration.when]);
    await client.query('commit');
  } catch (error) {
    // On a lost connection the rollback fails, and there is nothing to roll back: report the first error.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

async function isIndexValid(client: Client, index: string): Promise<boolean | undefined> {
  const { rows } = await client.query(
    `select p.indisvalid as valid from pg_class c join pg_index p on p.indexrelid = c.oid
      where c.relname = $1 and c.relnamespace = (select oid from pg_namespace where nspname = current_schema())`,
    [index],
  );
  return rows[0]?.valid;
}

/** Drops an index if it is invalid, left by an interrupted build: such an index slows down every write and serves no read. */
async function dropInvalidIndex(client: Client, index: string): Promise<void> {
  if ((await isIndexValid(client, index)) === false)
    await client.query(`drop index concurrently ${quoteIdentifier(index)}`);
}

async function runStatementOutsideTransaction(client: Client, statement: string, lockMs: number): Promise<void> {
  const index = BUILDS_INDEX.exec(statement)?.[1];
  // `CREATE INDEX CONCURRENTLY` waits for open transactions without blocking other sessions, so it needs no lock timeout.
  await client.query(`set lock_timeout = ${/\bCONCURRENTLY\b/i.test(statement) ? 0 : lockMs}`);
  if (index === undefined) return runStatement(client, statement);
  await dropInvalidIndex(client, index);
  if (await isIndexValid(client, index)) return;
  try {
    await runStatement(client, statement);
  } catch (error) {
    await dropInvalidIndex(client, index).catch(() => undefined);
    throw error;
  }
}

async function createFailedMigrationError(
  client: Client,
  { name, transaction }: Migration,
  error: StatementError,
): Promise<StartupError> {
  const { code } = error.failure;
  const lines =
    code === LOCK_NOT_AVAILABLE || code === DEADLOCK
      ? [
          'other sessions held a lock that it needs. Run it again when the database is less busy',
          `to find these sessions: select pid, state, xact_start, query from pg_stat_activity where xact_start is not null order by xact_start`,
        ]
      : await explainFailureWithCounts(client, error.statement, error.failure);
  const kept = transaction ? 'none of its changes were kept' : 'the statements before the failed one were committed';
  return new StartupError(`The migration ${name} failed; ${kept}:`, lines);
}

/**
 * Applies one migration and records it in drizzle's table: in one transaction, or statement by statement if the file says
 * `-- belfry: no transaction`. Such a file may have been interrupted before: valid indexes are not built again, invalid ones are.
 *
 * @throws StartupError naming the statement that failed, the reason, and what to do
 */
export async function applyMigration(
  client: Client,
  migration: Migration,
  lockRetry: LockRetry,
  log: Logger,
): Promise<void> {
  const { name } = migration;
  try {
    if (migration.transaction)
      await retryOnLock(name, lockRetry, log, () => applyInTransaction(client, migration, lockRetry));
    else {
      for (const statement of migration.statements) {
        await retryOnLock(name, lockRetry, log, () =>
          runStatementOutsideTransaction(client, statement, lockRetry.lockMs),
        );
      }
      await client.query(RECORD_APPLIED, [migration.hash, migration.when]);
    }
  } catch (error) {
    throw error instanceof StatementError ? await createFailedMigrationError(client, migration, error) : error;
  }
}
