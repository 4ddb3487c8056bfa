import { createHash } from 'node:crypto';
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import type { PoolClient } from 'pg';
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

/**
 * Makes the database match the tables: for development and tests. What it did last stands in the database, so a start
 * without a change costs one query. Columns and tables that are no longer declared are dropped, with a warning.
 */
export async function sync(client: PoolClient, tables: Record<string, PgTable>, log: Logger): Promise<void> {
  await client.query('create extension if not exists pg_trgm');
  await client.query(STATE);
  const { rows } = await client.query<{ fingerprint: string; snapshot: Snapshot }>(
    'select fingerprint, snapshot from belfry_sync',
  );
  const wanted = fingerprint(tables);
  if (rows[0]?.fingerprint === wanted) return;
  const next = await takeSnapshot(tables);
  const { statements, losses } = await statementsBetween(rows[0]?.snapshot, next);
  for (const loss of losses) log.warn({ statement: loss }, 'the declarations no longer hold this; its data is dropped');
  for (const statement of statements) await client.query(statement);
  await client.query(
    `insert into belfry_sync (fingerprint, snapshot) values ($1, $2)
     on conflict (one) do update set fingerprint = excluded.fingerprint, snapshot = excluded.snapshot`,
    [wanted, JSON.stringify(next)],
  );
}
