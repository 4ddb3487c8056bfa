// Statements that are sent in the same turn of the event loop share a transaction, and one of them never affects another.
import pg from 'pg';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { defineResource, defineUser, f } from '../../../../src/index.ts';
import { openDatabase } from '../../../../src/platform/data/postgres/database.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { startTestApp } from '../../../support/app.ts';

const open = { list: 'public', read: 'public', create: 'public' } as const;
const note = defineResource('note', { fields: { text: f.string().required() }, policies: open });
const tag = defineResource('tag', { fields: { text: f.string().required().unique() }, policies: open });
// Five connections are one for each kind of use, so that all writes use the same one.
const { app, call, env } = await startTestApp(
  { resources: [defineUser(), note, tag] },
  { env: () => ({ POOL_MAX: '5' }) },
);

const admin = new pg.Client(env.DATABASE_URL!);
await admin.connect();
await admin.query('create table grouped (id int primary key, text text check (text <> $$bad$$))');
const results: [text: string, rows: number][] = [];
const log = createLogger('silent', 'test');
const database = openDatabase(env.DATABASE_URL!, 'groups', log, {
  poolMax: 5,
  onResult: (text, _ms, rows) => void results.push([text, rows]),
});
afterAll(async () => {
  await database.close();
  await admin.end();
});
await database.read({ text: 'select 1', values: [] });

const INSERT = 'insert into grouped values ($1, $2) returning id, text';
let names = 0;
/** A name of its own for each test: a refusal affects the next statements of its name. */
let name = '';
beforeEach(async () => {
  name = `insert_${++names}`;
  await admin.query('truncate grouped');
  // A statement shares a transaction only on a connection on which it is prepared, and the first one looks up whether the table has triggers.
  await insert(0, 'good', false);
  await insert(1);
  await admin.query('truncate grouped');
  results.length = 0;
});

const insert = (id: number, text: string | null = 'good', shares = true) =>
  database.write({ name, text: INSERT, values: [id, text], sharesTransaction: shares ? 'grouped' : undefined });
const insertAll = (count: number, from = 0) => Promise.all(Array.from({ length: count }, (_, i) => insert(from + i)));
/** The number of transactions that wrote the rows of a table. */
async function countTransactions(table = 'grouped'): Promise<number> {
  const { rows } = await admin.query(`select count(distinct xmin::text)::int as count from ${table}`);
  return rows[0].count;
}

test('statements of one turn share a transaction, at most 16, and each gets its own row', async () => {
  const rows = await insertAll(20);
  expect(rows).toEqual(Array.from({ length: 20 }, (_, i) => [[i, 'good']]));
  expect(await countTransactions()).toBe(2);
  expect(results).toEqual(Array(20).fill([INSERT, 1]));
});

test('a statement that is not prepared yet runs alone', async () => {
  name = 'insert_unknown';
  await insertAll(3);
  expect(await countTransactions()).toBe(3);
});

test('a statement that comes alone, or must not share, has a transaction of its own', async () => {
  await insert(1);
  await insert(2);
  await Promise.all([insert(3, 'good', false), insert(4, 'good', false)]);
  await Promise.all(
    [5, 6].map((id) => database.write({ text: INSERT, values: [id, 'good'], sharesTransaction: 'grouped' })),
  );
  expect(await countTransactions()).toBe(6);
  expect(results).toEqual(Array(6).fill([INSERT, 1]));
});

test('values of every kind arrive as with a statement of its own', async () => {
  await admin.query(
    'create table kinds (id int primary key, bytes bytea, at timestamptz, texts text[], sent boolean, number float8)',
  );
  const values = [Buffer.from([0, 1, 255]), new Date(0), ['a', null, 'b"{'], true, -0.5];
  const run = (id: number, given: unknown[], shares: boolean) =>
    database.write({
      name: 'kinds',
      text: 'insert into kinds values ($1, $2, $3, $4, $5, $6) returning bytes, at, texts, sent, number',
      values: [id, ...given],
      sharesTransaction: shares ? 'kinds' : undefined,
    });
  const alone = [await run(1, values, false), await run(2, [null, null, null, null, null], false)];
  const together = await Promise.all([run(3, values, true), run(4, [null, null, null, null, null], true)]);
  expect(together).toEqual(alone);
  expect(await countTransactions('kinds')).toBe(3);
});

test('a statement that Postgres refuses gets its error; the others are written once', async () => {
  await insert(9);
  const settled = await Promise.allSettled([insert(1), insert(2, 'bad'), insert(3), insert(9), insert(4)]);
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled']);
  expect(settled[1]).toMatchObject({ reason: { code: '23514' } });
  expect(settled[3]).toMatchObject({ reason: { code: '23505' } });
  const { rows } = await admin.query('select id from grouped order by id');
  expect(rows.map(({ id }) => id)).toEqual([1, 3, 4, 9]);
});

test.each(['XX000', '58030', '57P01', '08006'])(
  'an error with the code %s, after which the connection is open, affects no other statement',
  async (code) => {
    await admin.query(`
      create or replace function refuse_bad(text text) returns text language plpgsql as $$
        begin if text = 'bad' then raise exception 'no' using errcode = '${code}'; end if; return text; end $$`);
    const add = (id: number, text = 'good', shares = true) =>
      database.write({
        name,
        text: 'insert into grouped values ($1, refuse_bad($2)) returning id',
        values: [id, text],
        sharesTransaction: shares ? 'grouped' : undefined,
      });
    name = `refuse_${code}`;
    await add(1, 'good', false);
    const settled = await Promise.allSettled([add(2), add(3, 'bad'), add(4)]);
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(settled[1]).toMatchObject({ reason: { code } });
    expect((await admin.query('select id from grouped order by id')).rows.map(({ id }) => id)).toEqual([1, 2, 4]);
  },
);

test('statements on a table with triggers have a transaction each', async () => {
  await admin.query(`
    create table watched (id int primary key);
    create function see() returns trigger language plpgsql as $$ begin return new; end $$;
    create trigger seen_later after update or delete on watched for each row execute function see()`);
  const add = (id: number, named: string, shares = true) =>
    database.write({
      name: named,
      text: 'insert into watched values ($1) returning id',
      values: [id],
      sharesTransaction: shares ? 'watched' : undefined,
    });
  await add(0, 'before', false);
  await Promise.all([1, 2, 3].map((id) => add(id, 'before')));
  expect(await countTransactions('watched')).toBe(2);
  await admin.query('create trigger seen before insert on watched for each row execute function see()');
  await add(4, 'after', false);
  await Promise.all([5, 6, 7].map((id) => add(id, 'after')));
  expect(await countTransactions('watched')).toBe(6);
});

test('after a refusal, statements of that name run alone for a while', async () => {
  await Promise.allSettled([insert(1), insert(2, 'bad')]);
  await insertAll(100, 10);
  expect(await countTransactions()).toBe(101);
  await insertAll(10, 200);
  expect(await countTransactions()).toBe(102);
});

test('a value that cannot be converted fails its own statement only', async () => {
  const broken = {
    toPostgres() {
      throw new Error('broken');
    },
  };
  const settled = await Promise.allSettled([insert(1), insert(2, broken as unknown as string), insert(3)]);
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(await countTransactions()).toBe(1);
});

test('a statement that waits for a lock does not make the others wait', async () => {
  await admin.query('create table parents (id int primary key); insert into parents values (1), (2)');
  await admin.query('create table children (id int primary key, parent int references parents)');
  const own = openDatabase(env.DATABASE_URL!, 'waiting', log);
  const add = (id: number, parent: number, shares = true) =>
    own.write({
      name: 'children',
      text: 'insert into children values ($1, $2) returning id',
      values: [id, parent],
      sharesTransaction: shares ? 'children' : undefined,
    });
  await add(1, 1, false);
  await add(2, 2, false);
  await admin.query('begin; select from parents where id = 1 for update');
  const waiting = add(3, 1);
  await Promise.all([add(4, 2), add(5, 2)]);
  await admin.query('commit');
  await waiting;
  await own.close();
  expect((await admin.query('select id from children order by id')).rows.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5]);
});

test('statements of two groups that need the same rows in another order do not wait for each other', async () => {
  await admin.query('create table counters (id int primary key, n int); insert into counters values (1, 0), (2, 0)');
  await admin.query(`
    create table counted (id int primary key, counter int);
    create function count_up(counter int) returns int language plpgsql as $$
      begin update counters set n = n + 1 where id = counter; perform pg_sleep(0.02); return counter; end $$`);
  const add = (own: typeof database, id: number, counter: number, shares = true) =>
    own.write({
      name: 'counted',
      text: 'insert into counted values ($1, count_up($2)) returning id',
      values: [id, counter],
      sharesTransaction: shares ? 'counted' : undefined,
    });
  const other = openDatabase(env.DATABASE_URL!, 'other', log);
  await add(database, 1, 1, false);
  await add(other, 2, 2, false);
  await Promise.all([add(database, 3, 1), add(database, 4, 2), add(other, 5, 2), add(other, 6, 1)]);
  await other.close();
  expect((await admin.query('select n from counters')).rows).toEqual([{ n: 3 }, { n: 3 }]);
  const { rows } = await admin.query(`select deadlocks::int from pg_stat_database where datname = current_database()`);
  expect(rows).toEqual([{ deadlocks: 0 }]);
});

test('a slow statement runs alone, with its own time limit', async () => {
  const slow = (id: number, shares = true) =>
    database.write({
      name: 'slow',
      text: 'insert into grouped select $1::int, case when $1::int > 100 then pg_sleep(0.6)::text end returning id',
      values: [id],
      sharesTransaction: shares ? 'grouped' : undefined,
    });
  await slow(1, false);
  expect(await Promise.all([slow(101), slow(4), slow(102)])).toEqual([[[101]], [[4]], [[102]]]);
});

test('if the connection is lost, every statement fails and none is sent again', async () => {
  const sleep = (id: number, shares = true) =>
    database.write({
      name: 'sleep',
      text: 'insert into grouped select $1::int, case when $1::int > 100 then pg_sleep(0.4)::text end returning id',
      values: [id],
      sharesTransaction: shares ? 'grouped' : undefined,
    });
  await sleep(1, false);
  await admin.query('truncate grouped');
  const settled = Promise.allSettled([sleep(101), sleep(102)]);
  const kill = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'groups' and wait_event = 'PgSleep'`;
  await vi.waitUntil(async () => (await admin.query(kill)).rowCount === 1, { interval: 10 });
  expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  // Until the end of the connection is noticed, it may get another statement.
  await vi.waitUntil(() => insert(3).then(Boolean, () => false));
  expect((await admin.query('select id from grouped')).rows).toEqual([{ id: 3 }]);
});

test('records that are created at the same time share transactions; one that Postgres refuses affects no other', async () => {
  await admin.query(`alter table notes add check (text <> 'refused')`);
  const notes = app.service('note');
  await notes.create({ text: 'prepares the statement' });
  await admin.query('delete from notes');
  const created = await Promise.all(Array.from({ length: 64 }, (_, i) => notes.create({ text: `note ${i}` })));
  expect(created.map(({ text }) => text)).toEqual(Array.from({ length: 64 }, (_, i) => `note ${i}`));
  expect(await countTransactions('notes')).toBe(4);
  const mixed = Array.from({ length: 20 }, (_, i) =>
    call('POST', '/api/notes', { text: i % 5 === 0 ? 'refused' : `mixed ${i}` }),
  );
  const statuses = (await Promise.all(mixed)).map(({ status }) => status);
  expect(statuses).toEqual(Array.from({ length: 20 }, (_, i) => (i % 5 === 0 ? 422 : 201)));
  const { rows } = await admin.query(`select count(*)::int as count from notes where text like 'mixed%'`);
  expect(rows[0].count).toBe(16);
});

test('records with unique values have a transaction each, and of equal ones exactly one is created', async () => {
  await Promise.all(Array.from({ length: 20 }, (_, i) => app.service('tag').create({ text: `tag ${i}` })));
  expect(await countTransactions('tags')).toBe(20);
  const equal = await Promise.all(Array.from({ length: 10 }, () => call('POST', '/api/tags', { text: 'same' })));
  expect(equal.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
});
