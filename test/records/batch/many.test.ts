import { Client as PostgresClient } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const ticket = defineResource('ticket', {
  fields: {
    code: f.string().required().unique().filterable(),
    state: f.enum(['open', 'closed']).default('open').filterable(),
    points: f.integer().min(0).filterable(),
    limit: f.integer(),
    owner: f.ref('user').owner().filterable(),
    internal: f.string().unique().hidden(),
  },
  policies: { list: 'authenticated', read: 'authenticated', create: 'authenticated', update: 'owner', delete: 'owner' },
});
const hidden = defineResource('hidden', {
  fields: { code: f.string().required().unique(), text: f.string(), owner: f.ref('user').owner() },
  policies: { list: 'owner', read: 'owner', create: 'authenticated', update: 'owner', delete: 'owner' },
});
const { app, env, person } = await startTestApp({ resources: [defineUser(), ticket, hidden] });
const sql = new PostgresClient({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());
const tickets = app.service(ticket);
const [ada, bob] = [await person('Ada'), await person('Bob')];
const as = async ({ id }: { id: string }) => ({ user: (await app.service('user').read(id)) as never });

test('createMany creates all records or none, and names the invalid input', async () => {
  const made = await tickets.createMany([{ code: 'a1' }, { code: 'a2', state: 'closed' }]);
  expect(made.map(({ code, state }) => [code, state])).toEqual([
    ['a1', 'open'],
    ['a2', 'closed'],
  ]);
  await expect(tickets.createMany([{ code: 'a3' }, { code: 'a4', points: -1 }, { code: '' }])).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    details: { '1.points': expect.any(String), '2.code': 'Is required' },
  });
  await expect(tickets.createMany([{ code: 'a3' }, { code: 'a1' }])).rejects.toMatchObject({
    code: 'CONFLICT',
    details: { '1.code': 'Is already taken' },
  });
  expect(await tickets.count({ code: { in: ['a3', 'a4'] } })).toBe(0);
  expect(await tickets.createMany([])).toEqual([]);
});

test('many records are created with a few statements, and each has its event, in order', async () => {
  await sql.query('delete from outbox');
  const made = await tickets.createMany(Array.from({ length: 1200 }, (_, i) => ({ code: `n${i}` })));
  const { rows } = await sql.query('select record_id from outbox order by id');
  expect(rows.map(({ record_id }) => record_id)).toEqual(made.map(({ id }) => id));
});

test('updateMany and deleteMany change every matching record and return their number', async () => {
  await tickets.createMany(Array.from({ length: 1300 }, (_, i) => ({ code: `u${i}`, points: i % 2 })));
  expect(await tickets.updateMany({ points: 1 }, { state: 'closed' })).toBe(650);
  expect(await tickets.count({ points: 1, state: 'closed' })).toBe(650);
  expect(await tickets.updateMany({ state: 'closed', points: { gte: 1 } }, { state: 'open' })).toBe(650);
  expect(await tickets.deleteMany({ points: { gte: 0 } })).toBe(1300);
  expect(await tickets.deleteMany({ points: { gte: 0 } })).toBe(0);
});

test('a filter that is missing, undefined or not a filter is refused', async () => {
  const loose = tickets as unknown as Record<string, (...given: unknown[]) => Promise<number>>;
  await expect(loose.updateMany!(undefined, { state: 'open' })).rejects.toThrow('updateMany() needs a filter');
  await expect(loose.deleteMany!({ state: undefined })).rejects.toThrow('the filter "state" is undefined');
  await expect(loose.deleteMany!({ limit: 1 })).rejects.toThrow('leave out "limit"');
  await expect(loose.deleteMany!({ stat: 'open' })).rejects.toThrow('Unknown field "stat"');
});

test('a user changes only records that they may change, and one that they may not change stops the call', async () => {
  await tickets.createMany(
    [
      { code: 'o1', points: 70 },
      { code: 'o2', points: 70 },
    ],
    await as(ada),
  );
  expect(await tickets.updateMany({ points: 70 }, { state: 'closed' }, await as(ada))).toBe(2);
  await expect(tickets.updateMany({ points: 70 }, { state: 'open' }, await as(bob))).rejects.toMatchObject({
    code: 'FORBIDDEN',
  });
  expect(await tickets.count({ points: 70, state: 'closed' })).toBe(2);
});

test('upsert updates or creates, and concurrent calls with one key make one record', async () => {
  const first = await tickets.upsert('code', { code: 'p1', points: 1 });
  const second = await tickets.upsert('code', { code: 'p1', points: 2 });
  expect([second.id, second.points]).toEqual([first.id, 2]);
  const all = await Promise.all(
    Array.from({ length: 20 }, (_, i) => tickets.upsert('code', { code: 'p2', points: i })),
  );
  expect(new Set(all.map(({ id }) => id)).size).toBe(1);
  await expect(tickets.upsert('state' as 'code', { code: 'p1' })).rejects.toThrow('needs a unique field of "ticket"');
  await expect(tickets.upsert('code', {} as { code: string })).rejects.toMatchObject({
    details: { code: 'Is required' },
  });
});

test('an upsert does not reveal or change a record that the caller cannot read', async () => {
  await app.service(hidden).create({ code: 'taken', text: 'of Ada' }, await as(ada));
  await expect(app.service(hidden).upsert('code', { code: 'taken', text: 'x' }, await as(bob))).rejects.toMatchObject({
    code: 'CONFLICT',
    details: { code: 'Is already taken' },
  });
  const send = (caller: typeof ada, by: string, data: object) =>
    caller.call('POST', '/api/hiddens/batch', { mode: 'perItem', operations: [{ op: 'upsert', by, data }] });
  const { body } = await send(bob, 'code', { code: 'taken', text: 'x' });
  const single = await bob.call('POST', '/api/hiddens', { code: 'taken', text: 'x' });
  const { requestId: _id, ...error } = single.body.error;
  expect(body.data).toEqual([{ status: 409, error }]);
  expect((await send(ada, 'code', { code: 'taken', text: 'new' })).body.data[0]).toMatchObject({
    status: 200,
    data: { text: 'new' },
  });
  expect(
    (
      await ada.call('POST', '/api/tickets/batch', {
        operations: [{ op: 'upsert', by: 'internal', data: { internal: 'x' } }],
      })
    ).body.error.details,
  ).toEqual({
    'operations.0.by': 'Must be a unique field: code',
  });
});

test('inside a transaction the changes of a failed call are never committed, even if the error is caught', async () => {
  const run = app.transaction(async (tx) => {
    await tx.service(ticket).create({ code: 'x0' });
    await tx
      .service(ticket)
      .createMany([{ code: 'x1' }, { code: 'a1' }])
      .catch(() => undefined);
  });
  await expect(run).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(await tickets.count({ code: { in: ['x0', 'x1'] } })).toBe(0);
  await app.transaction(async (tx) => {
    await tx.service(ticket).createMany([{ code: 'y1' }, { code: 'y2' }]);
    expect(await tx.service(ticket).updateMany({ code: { in: ['y1', 'y2'] } }, { state: 'closed' })).toBe(2);
    await tx.service(ticket).upsert('code', { code: 'y1', points: 9 });
  });
  expect(await tickets.count({ code: { in: ['y1', 'y2'] }, state: 'closed' })).toBe(2);
});
