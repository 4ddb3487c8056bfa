import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { IndexedColumn, PgTable } from 'drizzle-orm/pg-core';
import type { Client } from 'pg';
import { findStorageSettings, getTableConfig, readExpression } from '../../platform/data/postgres/drizzle.ts';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { StartupError } from '../../platform/helpers/config-errors.ts';
import type { Logger } from '../../platform/observability/log.ts';
import { explainFailureWithCounts } from './explain-failure.ts';
import { applyOwnSql, readOwnSql } from './own-sql.ts';
import type { RefusedChange } from './plan/column-changes.ts';
import { exactCastSql } from './plan/convert.ts';
import type { DeclaredFacts } from './plan/declared.ts';
import { assertLossesAllowed, type MayDrop } from './plan/losses.ts';
import { type Plan, planSchemaChange } from './plan/plan-change.ts';
import { NO_REQUESTS } from './plan/requested-changes.ts';
import { type Snapshot, takeSnapshot } from './plan/snapshot.ts';
import { isMigrated } from './state.ts';

const CREATE_STATE_TABLE = `create table if not exists belfry_sync (
  one boolean primary key default true check (one), fingerprint text not null, snapshot jsonb not null);
  alter table belfry_sync add column if not exists own_sql jsonb not null default '{}'`;

/** The declared tables, and facts about the tables that their SQL does not contain. */
interface Schema {
  tables: Record<string, PgTable>;
  declared: DeclaredFacts;
}

/** The statements that set the storage parameters of tables. */
const storageStatements = ({ tables }: Schema): string[] =>
  Object.values(tables).flatMap((table) => {
    const settings = findStorageSettings(table);
    return settings === undefined ? [] : `alter table ${quoteIdentifier(getTableConfig(table).name)} set (${settings})`;
  });

/** Computes a fingerprint that changes when the declared tables change, without loading drizzle-kit, which is slow. */
export function computeFingerprint(schema: Schema): string {
  const { tables, declared } = schema;
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
      indexes: indexes.map(({ config }) => [
        config.name,
        config.unique,
        config.method,
        config.where !== undefined,
        config.columns.map((term) => [readExpression(term), (term as IndexedColumn).indexConfig]),
      ]),
      keys: [foreignKeys.length, primaryKeys.length, uniqueConstraints.length],
      ...(foreignKeys.length > 0 && { foreignKeys: foreignKeys.map((key) => key.getName()) }),
    };
  });
  const kept = [...declared.columns].map(([key, column]) => [key, column.kind, column.bound, column.hasDefault]);
  return createHash('sha256')
    .update(
      JSON.stringify([
        described,
        kept,
        declared.statements,
        [...declared.partitioned],
        storageStatements(schema),
        ...(Object.keys(declared.constraints).length > 0 ? [declared.constraints] : []),
      ]),
    )
    .digest('hex');
}

/** Whether a database is managed by `sync`, which stores its state in the table `belfry_sync`. */
export async function isSynced(client: Client): Promise<boolean> {
  const { rows } = await client.query(`select to_regclass('belfry_sync') is not null as is`);
  return rows[0].is;
}

/** Refuses to work with migrations on a database that sync manages. @throws StartupError */
export async function refuseSyncedDatabase(client: Client): Promise<void> {
  if (!(await isSynced(client))) return;
  throw new StartupError(
    'This database was created by npx belfry dev (sync mode), so migrations cannot be applied to it:',
    ['set DATABASE_URL to another database, or empty this one'],
  );
}

const START_OVER_HINT = 'rename the field, or start with an empty database (npx belfry dev --fresh)';

async function runStatements(client: Client, statements: readonly string[]): Promise<void> {
  for (const statement of statements) {
    // After the failure of a check of rows, the rows are counted in the same transaction.
    const isCheck = statement.includes(' VALIDATE CONSTRAINT ');
    if (isCheck) await client.query('savepoint before_check');
    await client.query(statement).catch(async (error: Error) => {
      if (isCheck) await client.query('rollback to savepoint before_check');
      const fix = statement.includes(' SET DATA TYPE ')
        ? START_OVER_HINT
        : 'change the declaration, or the rows that prevent the change';
      throw new StartupError('The database cannot be made to match the declarations; nothing was changed:', [
        ...(await explainFailureWithCounts(client, statement, error)),
        fix,
      ]);
    });
  }
}

/** Logs notes on new defaults of columns that have rows without a value. */
async function warnOfRowsWithoutDefault(client: Client, { unchecked }: Plan, log: Logger): Promise<void> {
  for (const one of unchecked) {
    if (!('missing' in one)) continue;
    const [table, column] = [one.table, one.column].map(quoteIdentifier);
    const { rows } = await client.query(`select count(*)::int as count from ${table} where ${column} is null`);
    if (rows[0].count > 0) log.warn({ rows: rows[0].count }, one.note);
  }
}

async function isColumnEmpty(client: Client, { earlierName: was }: RefusedChange): Promise<boolean> {
  const [table, column] = was.split('.').map((name) => quoteIdentifier(name!));
  const { rows } = await client.query(`select exists (select 1 from ${table} where ${column} is not null) as found`);
  return !rows[0].found;
}

/**
 * Plans a sync. A generated migration cannot look at the rows, but sync can: it replaces a column without values, and converts
 * values if that is possible.
 */
async function planSync(
  client: Client,
  previous: Snapshot | undefined,
  next: Snapshot,
  declared: DeclaredFacts,
): Promise<Plan> {
  const first = await planSchemaChange(previous, next, declared, NO_REQUESTS);
  if (first.refusals.length === 0) return first;
  const dropped = new Set<string>();
  const using = new Map<string, string>();
  for (const refusal of first.refusals) {
    const key = `${refusal.table}.${refusal.column}`;
    if (await isColumnEmpty(client, refusal)) dropped.add(key);
    else if (refusal.from !== undefined)
      using.set(key, exactCastSql(quoteIdentifier(refusal.column), refusal.from, refusal.type));
  }
  const second = await planSchemaChange(previous, next, declared, { ...NO_REQUESTS, dropped, using });
  if (second.refusals.length > 0) {
    throw new StartupError('The database cannot be made to match the declarations; nothing was changed:', [
      ...second.refusals.map(({ table, column, reason: why }) => `${table}.${column}: ${why}`),
      START_OVER_HINT,
    ]);
  }
  const isKept = (loss: Plan['losses'][number]) =>
    first.losses.some(({ table, column }) => table === loss.table && column === loss.column);
  // The columns that only the second plan drops contain no values, so dropping them is no loss.
  return { ...second, losses: second.losses.filter(isKept) };
}

/**
 * Makes the database match the tables, for development and tests, all or nothing. The database stores the last result: a start without a
 * change costs one query.
 *
 * @param mayDrop which undeclared tables and columns are dropped; a drop of values is logged as a warning
 * @param folder the folder of the project's migrations, whose handwritten SQL is applied; undefined: none is
 * @throws StartupError if a statement fails or would lose data that must be kept, or if the database is managed by migrations
 */
export async function syncDatabase(
  client: Client,
  schema: Schema,
  { mayDrop, folder }: { mayDrop: MayDrop; folder: string | undefined },
  log: Logger,
): Promise<void> {
  if (!(await isSynced(client)) && (await isMigrated(client))) {
    throw new StartupError('This database is managed by migrations:', [
      'use npx belfry migration generate and npx belfry migrate for it, or set DATABASE_URL to another database for development',
    ]);
  }
  let dropped: string[] = [];
  await client.query('begin');
  try {
    await client.query('create extension if not exists pg_trgm');
    await client.query(CREATE_STATE_TABLE);
    const { rows } = await client.query<{ fingerprint: string; snapshot: Snapshot; own: Record<string, string> }>(
      'select fingerprint, snapshot, own_sql as own from belfry_sync',
    );
    const wanted = computeFingerprint(schema);
    if (rows[0]?.fingerprint !== wanted) {
      const next = takeSnapshot(schema.tables, schema.declared);
      const plan = await planSync(client, rows[0]?.snapshot, next, schema.declared);
      const { statements, indexes, validations, losses } = plan;
      await warnOfRowsWithoutDefault(client, plan, log);
      dropped = await assertLossesAllowed(client, losses, mayDrop);
      await runStatements(client, [...statements, ...indexes, ...validations, ...storageStatements(schema)]);
      await client.query(
        `insert into belfry_sync (fingerprint, snapshot) values ($1, $2)
         on conflict (one) do update set fingerprint = excluded.fingerprint, snapshot = excluded.snapshot`,
        [wanted, JSON.stringify(next)],
      );
    }
    const applied = rows[0]?.own ?? {};
    const own = await applyOwnSql(client, folder === undefined ? [] : readOwnSql(folder), applied, log);
    if (!isDeepStrictEqual(own, applied)) await client.query('update belfry_sync set own_sql = $1', [own]);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
  for (const loss of dropped) log.warn({ loss }, 'a table or column was dropped, because it is no longer declared');
}
