// Databases of earlier versions have plain tables of pushes. A migration partitions them while processes of that version use them.
import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { app } from '../../../src/app/index.ts';
import { leastIdAt } from '../../../src/platform/ids.ts';
import { createLogger } from '../../../src/platform/observability/log.ts';
import { retryConflicts } from '../../../src/platform/postgres/retry.ts';
import { createPushSweeps } from '../../../src/push/delivery/sweeps.ts';
import { applyMigration } from '../../../src/runtime/migrations/apply.ts';
import { readMigrations } from '../../../src/runtime/migrations/journal.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';
import { openPlatform } from '../platform.ts';

const DAY_MS = 86_400_000;
const TABLES = ['pushes', 'push_chunks', 'push_results'];
const CONVERSION = 'belfry/0007_push_partitions';
const LOCK_RETRY = { lockMs: 2000, pauseMs: 10, tries: 30 };

/** Returns a database with all migrations before the conversion, and what applies the conversion and the rest. */
async function createEarlierDatabase() {
  const database = await createTestDatabase();
  const env = {
    NODE_ENV: 'test',
    DATABASE_URL: database.databaseUrl,
    REDIS_URL: database.redisUrl,
    REDIS_PREFIX: database.redisPrefix,
  };
  const sql = new Client(database.databaseUrl);
  await sql.connect();
  onTestFinished(async () => {
    await sql.end();
    await database.drop();
  });
  await sql.query(
    'create schema drizzle; create table drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)',
  );
  const migrations = readMigrations('migrations');
  const at = migrations.findIndex(({ name }) => name === CONVERSION);
  const log = createLogger('silent', 'test');
  for (const migration of migrations.slice(0, at)) await applyMigration(sql, migration, LOCK_RETRY, log);
  const convert = async () => {
    const made = app(env);
    await made.migrate({ mode: 'apply', folder: 'migrations', say: () => undefined });
    await made.close();
  };
  return { env, sql, convert, conversion: migrations[at]!, log };
}

let count = 0;
const idOf = (daysAgo: number) =>
  leastIdAt(Date.now() - daysAgo * DAY_MS).slice(0, 8) + String(++count).padStart(16, '0');

/** Returns a day ahead as in names of partitions. */
const dayAhead = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '');

/** Statements of the earlier version, prepared as its processes prepare them. */
const INSERT = {
  name: 'insert',
  text: `with p as (
      insert into pushes (id, message, audience, status, devices, open_chunks) values ($1, '{}', '{}', 'queued', 1, 1)
    ), c as (
      insert into push_chunks (push_id, chunk, first_position, last_position) values ($1, 0, 0, 0)
    )
    insert into push_results (push_id, position, platform, device_id, masked_token) values ($1, 0, 'ios', 'device', '…')
    on conflict do nothing`,
};
const STORE = {
  name: 'store',
  text: `with locked as (select id from pushes where id = any($1) order by id for update), h as (
      select g.push_id from unnest($1::text[]) g(push_id) join push_chunks c on c.push_id = g.push_id
      where c.finished_at is null and (select count(*) from locked) > 0 for update of c
    ), r as (
      update push_results r set ok = true from h where r.push_id = h.push_id and r.position = 0 returning r.push_id
    ), k as (
      update push_chunks c set finished_at = now() from h where c.push_id = h.push_id
    )
    update pushes p set open_chunks = 0, status = 'sent' from r where p.id = r.push_id returning p.id`,
};

test('the migration keeps the rows and partitions the tables while an earlier version stores pushes', async () => {
  const { env, sql, convert } = await createEarlierDatabase();
  const earlier = new Client(env.DATABASE_URL);
  await earlier.connect();
  onTestFinished(() => earlier.end());
  const before = [idOf(29), idOf(3), idOf(0)];
  for (const id of before) await earlier.query({ ...INSERT, values: [id] });
  const stored: string[] = [];
  let isConverted = false;
  const converting = convert().then(() => {
    isConverted = true;
  });
  for (let left = 20; left > 0; left -= isConverted ? 1 : 0) {
    const id = idOf(0);
    await retryConflicts(() => earlier.query({ ...INSERT, values: [id] }));
    const store = () => earlier.query({ ...STORE, values: [[id]] });
    expect((await retryConflicts(store)).rows).toEqual([{ id }]);
    stored.push(id);
  }
  await converting;
  expect((await earlier.query({ ...STORE, values: [before] })).rows).toHaveLength(before.length);
  for (const table of TABLES) {
    const { rows } = await sql.query(
      `select count(*)::int as rows, count(distinct tableoid)::int as partitions, (select relkind from pg_class where oid = '${table}'::regclass) as kind
       from ${table}`,
    );
    expect(rows).toEqual([{ rows: before.length + stored.length, partitions: 1, kind: 'p' }]);
  }
  await expect(
    earlier.query(
      `insert into push_results (push_id, position, platform, device_id, masked_token) values ($1, 1, 'ios', 'device', '…')`,
      [before[0]],
    ),
  ).rejects.toThrow(/unique constraint "push_results_device_index_earlier"/);
});

test('after the migration, partitions begin where the earlier table ends, and old rows of that table are deleted', async () => {
  const { env, sql, convert } = await createEarlierDatabase();
  const [old, young] = [idOf(31), idOf(29)];
  for (const id of [old, young]) await sql.query({ ...INSERT, values: [id] });
  await convert();
  const platform = await openPlatform(env);
  onTestFinished(() => platform.close());
  for (const sweep of createPushSweeps(platform, new Set()).filter(({ name }) => name.includes('retention')))
    await sweep.run();
  const lastDay = dayAhead(14);
  for (const [table, column] of [
    ['pushes', 'id'],
    ['push_chunks', 'push_id'],
    ['push_results', 'push_id'],
  ]) {
    expect((await sql.query(`select ${column} as id from ${table}`)).rows).toEqual([{ id: young }]);
    const { rows } = await sql.query(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = '${table}'::regclass order by 1`,
    );
    expect(rows.map(({ name }) => name)).toEqual([`${table}_${lastDay}`, `${table}_default`]);
  }
});

test('before the migration, and in sync mode, old rows of the tables are deleted, and new ones stay', async () => {
  const { env, sql } = await createEarlierDatabase();
  const [old, young] = [idOf(31), idOf(29)];
  for (const id of [old, young]) await sql.query({ ...INSERT, values: [id] });
  const platform = await openPlatform(env);
  onTestFinished(() => platform.close());
  for (const sweep of createPushSweeps(platform, new Set()).filter(({ name }) => name.includes('retention')))
    await sweep.run();
  expect((await sql.query('select push_id from push_results union all select id from pushes')).rows).toEqual([
    { push_id: young },
    { push_id: young },
  ]);
});

test.each([
  ['with rows', true],
  ['without rows', false],
])('a role that could use the tables, %s, can use the partitioned ones', async (_state, hasRows) => {
  const { sql, convert } = await createEarlierDatabase();
  const role = `push_app_${process.pid}`;
  await sql.query(
    `create role ${role}; grant select, insert, update on pushes, push_chunks, push_results to ${role}; grant delete on pushes to public`,
  );
  try {
    if (hasRows) await sql.query({ ...INSERT, values: [idOf(1)] });
    await convert();
    await sql.query(`set role ${role}`);
    const id = idOf(0);
    await sql.query({ ...INSERT, name: undefined, values: [id] });
    expect((await sql.query({ ...STORE, name: undefined, values: [[id]] })).rows).toEqual([{ id }]);
    await sql.query('delete from pushes');
    await expect(sql.query('delete from push_results')).rejects.toMatchObject({ code: '42501' });
  } finally {
    await sql.query(`reset role; drop owned by ${role}; drop role ${role}`);
  }
});

test('the tables keep their owner if a superuser runs the migration', async () => {
  const { sql, convert } = await createEarlierDatabase();
  const role = `push_owner_${process.pid}`;
  await sql.query(`create role ${role}`);
  for (const table of TABLES) await sql.query(`alter table ${table} owner to ${role}`);
  try {
    await convert();
    const { rows } = await sql.query(
      `select distinct pg_get_userbyid(relowner) as owner from pg_class where relname ~ '^push(es|_chunks|_results)(_default)?$'`,
    );
    expect(rows).toEqual([{ owner: role }]);
  } finally {
    await sql.query(`drop owned by ${role} cascade; drop role ${role}`);
  }
});

test('the migration continues after an interruption between any two of its statements', async () => {
  const { sql, conversion, convert, log } = await createEarlierDatabase();
  const id = idOf(1);
  await sql.query({ ...INSERT, values: [id] });
  for (let end = 1; end <= conversion.statements.length; end++) {
    // A statement that cannot succeed is the interruption.
    const statements = [...conversion.statements.slice(0, end), 'select 1/0'];
    await expect(applyMigration(sql, { ...conversion, statements }, LOCK_RETRY, log)).rejects.toThrow(CONVERSION);
    // After a roll back to the earlier version, there are almost two weeks to continue the migration or to undo it.
    await sql.query({ ...INSERT, values: [idOf(-13.9)] });
  }
  await convert();
  const { rows } = await sql.query('select tableoid::regclass::text from push_results');
  expect(rows).toHaveLength(1 + conversion.statements.length);
});

test('after an interruption, the documented statement removes the limit on days, and the migration can be applied later', async () => {
  const { sql, conversion, convert, log } = await createEarlierDatabase();
  const documented = /```sql\n(DO [\s\S]*?)```/.exec(readFileSync('docs/push.md', 'utf8'))![1]!;
  for (const end of [2, 3]) {
    const statements = [...conversion.statements.slice(0, end), 'select 1/0'];
    await expect(applyMigration(sql, { ...conversion, statements }, LOCK_RETRY, log)).rejects.toThrow(CONVERSION);
    await expect(sql.query({ ...INSERT, values: [idOf(-100)] })).rejects.toMatchObject({ code: '23514' });
    await sql.query(documented);
    await sql.query({ ...INSERT, values: [idOf(-100)] });
    await sql.query('delete from push_results; delete from push_chunks; delete from pushes');
  }
  await convert();
  await sql.query({ ...INSERT, name: undefined, values: [idOf(0)] });
});

test('rows whose ids are far ahead, because a clock was wrong, do not prevent the migration', async () => {
  const { sql, convert } = await createEarlierDatabase();
  const ids = [idOf(1), idOf(-40)];
  for (const id of ids) await sql.query({ ...INSERT, values: [id] });
  await convert();
  for (const table of TABLES) {
    const { rows } = await sql.query(
      `select distinct tableoid::regclass::text as name, count(*)::int from ${table} group by 1`,
    );
    expect(rows).toEqual([{ name: `${table}_${dayAhead(40)}`, count: ids.length }]);
  }
  const later = idOf(-41.1);
  await sql.query({ ...INSERT, name: undefined, values: [later] });
  expect((await sql.query('select tableoid::regclass::text as name from pushes where id = $1', [later])).rows).toEqual([
    { name: 'pushes_default' },
  ]);
});
