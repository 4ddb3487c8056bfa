import pg from 'pg';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { Database } from '../../../../src/platform/data/postgres/database.ts';
import { withDatabaseMetrics } from '../../../../src/platform/data/postgres/metrics.ts';
import { summarizeStatement } from '../../../../src/platform/data/postgres/tracing.ts';
import { ApiError } from '../../../../src/platform/helpers/errors.ts';

const postgresError = (code: string) => Object.assign(new pg.DatabaseError('refused', 7, 'error'), { code });

/** Runs one call of each method against a database whose calls fail. Returns the counted errors, without kinds that did not occur. */
async function countedErrorsOf(error: unknown): Promise<string[]> {
  const registry = new Registry();
  const fail = () => Promise.reject(error);
  const stats = () => ({ max: 0, open: 0, idle: 0, failedOpens: 0, lanes: {} });
  const failing = { stats, read: fail, readList: fail, readSlowly: fail, write: fail, transaction: fail };
  const database = withDatabaseMetrics(failing as unknown as Database, { registry });
  const statement = { text: 'select 1', values: [] };
  for (const run of [database.read, database.readList, database.readSlowly, database.write])
    await expect(run(statement)).rejects.toBe(error);
  await expect(database.transaction(async () => undefined)).rejects.toBe(error);
  return (await registry.metrics()).match(/^belfry_db_errors_total\{.*\} [1-9]\d*$/gm) ?? [];
}

test.each<[string, unknown, string]>([
  ['a statement timeout', postgresError('57014'), 'timeout'],
  ['a deadlock', postgresError('40P01'), 'conflict'],
  ['a lost connection', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }), 'unavailable'],
  ['a server without free connections', postgresError('53300'), 'unavailable'],
  ['an error in a statement', postgresError('42P01'), 'other'],
])('%s is counted, and the caller gets the error', async (_name, error, kind) => {
  expect(await countedErrorsOf(error)).toEqual([`belfry_db_errors_total{kind="${kind}"} 5`]);
});

test.each<[string, unknown]>([
  ['a duplicate', postgresError('23505')],
  ['a value that cannot be stored', postgresError('22P05')],
  ['an error of the code in a transaction', new ApiError('CONFLICT')],
])('%s is not counted', async (_name, error) => {
  expect(await countedErrorsOf(error)).toEqual([]);
});

test.each([
  ['select "id", "title" from "posts" where "id" = $1', 'SELECT', 'posts'],
  ['with _new as (insert into "posts" ("id") values ($1) returning *) select * from _new', 'INSERT', 'posts'],
  [
    'with _old as (select * from "posts" where "id" = $1 for update), _new as (update "posts" _row set x = $2)',
    'UPDATE',
    'posts',
  ],
  ['with _new as (delete from "posts" where "id" = $1 returning *) select', 'DELETE', 'posts'],
  ['select from "posts" where "id" = $1 for update', 'SELECT', 'posts'],
  ['select id from outbox order by id limit $1 for update skip locked', 'SELECT', 'outbox'],
  ['select 1', 'SELECT', undefined],
])('the summary of %s has its kind and its table', (text, operation, table) => {
  expect(summarizeStatement(text)).toEqual({ operation, table });
});
