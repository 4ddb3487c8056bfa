import { createHash } from 'node:crypto';
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import type { PoolClient } from 'pg';
import { StartupError } from '../../platform/environment.ts';
import type { Logger } from '../../platform/log.ts';
import { type Snapshot, statementsBetween, takeSnapshot } from './diff.ts';

const STATE = `create table if not exists belfry_sync (
  one boolean primary key default true check (one), fingerprint text not null, snapshot jsonb not null)`;

/** Changes when the tables do, without the cost of loading drizzle-kit. */
function fingerprint(tables: Record<string, PgTable>): string {
  const described = Object.values(tables).map((table) => {
    const { name, columns, indexes, foreignKeys, primaryKeys, uniqueConstraints } = getTableConfig(table);
    return {
      name,
      columns: columns.map((column) => [
        column.name,
        column.getSQLType(),
        column.notNull,
        column.hasDefault,
        column.isUnique,
      ]),
      indexes: indexes.map(({ config }) => [config.name, config.unique, config.method, config.columns.length]),
      keys: [foreignKeys.length, primaryKeys.length, uniqueConstraints.length],
    };
  });
  return createHash('sha256').update(JSON.stringify(described)).digest('hex');
}

const TYPE_CHANGE = /ALTER COLUMN "([^"]+)" SET DATA TYPE/;

function failed(statement: string, error: Error): StartupError {
  const column = TYPE_CHANGE.exec(statement)?.[1];
  const mend =
    column === undefined
      ? 'change the declaration or the rows that are in its way'
      : `the values of "${column}" can not be turned into its new type: give it another name, or begin afresh (npm run dev -- --fresh)`;
  return new StartupError('The database can not be made to match the declarations; nothing was changed:', [
    `${statement.split('\n')[0]} …: ${error.message}`,
    mend,
  ]);
}

async function isMigrated(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query(`select to_regclass('drizzle.__drizzle_migrations') is not null as is`);
  return rows[0].is;
}

/** Whether a database is kept by `sync`. */
export async function isSynced(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query(`select to_regclass('belfry_sync') is not null as is`);
  return rows[0].is;
}

async function run(client: PoolClient, statements: readonly string[]): Promise<void> {
  for (const statement of statements) {
    await client.query(statement).catch((error: Error) => {
      throw failed(statement, error);
    });
  }
}

/**
 * Makes the database match the tables: for development and tests. What it did last stands in the database, so a start
 * without a change costs one query. All or nothing.
 *
 * @param mayLose whether columns and tables that are no longer declared are dropped, with a warning
 * @throws StartupError when a statement fails, would lose data that must be kept, or the database is kept by migrations
 */
export async function sync(
  client: PoolClient,
  tables: Record<string, PgTable>,
  mayLose: boolean,
  log: Logger,
): Promise<void> {
  if (!(await isSynced(client)) && (await isMigrated(client))) {
    throw new StartupError('The database is kept by migrations:', [
      'use npm run migration:generate and npm run migrate for it, or name another database for development',
    ]);
  }
  await client.query('begin');
  try {
    await client.query('create extension if not exists pg_trgm');
    await client.query(STATE);
    const { rows } = await client.query<{ fingerprint: string; snapshot: Snapshot }>(
      'select fingerprint, snapshot from belfry_sync',
    );
    const wanted = fingerprint(tables);
    if (rows[0]?.fingerprint !== wanted) {
      const next = await takeSnapshot(tables);
      const { statements, losses } = await statementsBetween(rows[0]?.snapshot, next);
      if (losses.length > 0 && !mayLose) {
        throw new StartupError('The declarations no longer hold what the database has; this would lose data:', losses);
      }
      for (const loss of losses) log.warn({ statement: loss }, 'the declarations no longer hold this; it is dropped');
      await run(client, statements);
      await client.query(
        `insert into belfry_sync (fingerprint, snapshot) values ($1, $2)
         on conflict (one) do update set fingerprint = excluded.fingerprint, snapshot = excluded.snapshot`,
        [wanted, JSON.stringify(next)],
      );
    }
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}
