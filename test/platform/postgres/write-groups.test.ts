// Statements that are sent in the same turn of the event loop share a transaction, and one of them never affects another.
import pg from 'pg';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { createLogger } from '../../../src/platform/observability/log.ts';
import { openDatabase } from '../../../src/platform/postgres/database.ts';
import { startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public', create: 'public' } as const;
const note = defineResource('note', { fields: { text: f.string().required() }, policies: open });
const tag = defineResource('tag', { fields: { text: f.string().required().unique() }, policies: open });
const { app, call, env } = await startTestApp({ resources: [defineUser(), note, tag] });

const admin = new pg.Client(env.DATABASE_URL!);
await admin.connect();
await admin.query('create table grouped (id int primary key, text text check (text <> $$bad$$))');
const results: [text: string, rows: number][] = [];
const database = openDatabase(env.DATABASE_URL!, 'groups', createLogger('silent', 'test'), {
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
  results.length = 0;
  await admin.query('truncate grouped');
});

const insert = (id: number, text: string | null = 'good', sharesTransaction = true) =>
  database.write({ name, text: INSERT, values: [id, text], sharesTransaction });
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
  // The statement is prepared now, and its columns are known.
  expect(await insertAll(3, 20)).toEqual([[[20, 'good']], [[21, 'good']], [[22, 'good']]]);
  expect(await countTransactions()).toBe(3);
});

test('a statement that comes alone, or must not share, has a transaction of its own', async () => {
  await insert(1);
  await insert(2);
  await Promise.all([insert(3, 'good', false), insert(4, 'good', false)]);
  await Promise.all(
    [5, 6].map((id) => database.write({ text: INSERT, values: [id, 'good'], sharesTransaction: true })),
  );
  expect(await countTransactions()).toBe(6);
  expect(results).toEqual(Array(6).fill([INSERT, 1]));
});

test('values of every kind arrive as with a statement of its own', async () => {
  await admin.query(
    'create table kinds (id int primary key, bytes bytea, at timestamptz, texts text[], sent boolean, number float8)',
  );
  const values = [Buffer.from([0, 1, 255]), new Date(0), ['a', null, 'b"{'], true, -0.5];
  const run = (id: number, given: unknown[], sharesTransaction: boolean) =>
    database.write({
      name: 'kinds',
      text: 'insert into kinds values ($1, $2, $3, $4, $5, $6) returning bytes, at, texts, sent, number',
      values: [id, ...given],
      sharesTransaction,
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

test('after a refusal, statements of that name run alone for a while', async () => {
  await Promise.allSettled([insert(1), insert(2, 'bad')]);
  await insertAll(100, 10);
  expect(await countTransactions()).toBe(101);
  await insertAll(10, 200);
  expect(await countTransactions()).toBe(102);
});

test('if the connection is lost, every statement fails and none is sent again', async () => {
  await admin.query('begin; lock table grouped');
  const settled = Promise.allSettled([insert(1), insert(2)]);
  const kill = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'groups' and wait_event_type = 'Lock'`;
  await vi.waitUntil(async () => (await admin.query(kill)).rowCount === 1);
  expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await admin.query('commit');
  // Until the end of the connection is noticed, it may get another statement.
  await vi.waitUntil(() => insert(3).then(Boolean, () => false));
  expect((await admin.query('select id from grouped')).rows).toEqual([{ id: 3 }]);
});

test('records that are created at the same time share transactions; one that a trigger refuses affects no other', async () => {
  await admin.query(`
    create function refuse() returns trigger language plpgsql as $$
      begin if new.text = 'refused' then raise exception 'no' using errcode = '23514'; end if; return new; end $$;
    create trigger refuse before insert on notes for each row execute function refuse()`);
  const notes = app.service('note');
  await notes.create({ text: 'the first one opens a connection' });
  const created = await Promise.all(Array.from({ length: 64 }, (_, i) => notes.create({ text: `note ${i}` })));
  expect(created.map(({ text }) => text)).toEqual(Array.from({ length: 64 }, (_, i) => `note ${i}`));
  expect(await countTransactions('notes')).toBe(5);
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
