// A restore counts as a create: validation, hooks and unique values apply.
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { ApiError, defineResource, defineUser, f, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { getStartupErrorOfOptions } from '../../support/startup-error.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
const calls: string[] = [];
const room = defineResource('room', { fields: { name: f.string() }, policies: open, softDelete: true });
const booking = defineResource('booking', {
  fields: {
    room: f.ref('room', { onDelete: 'cascade' }).required().index(),
    from: f.date().required().filterable(),
    note: f.string().encrypted(),
  },
  policies: open,
  softDelete: true,
  hooks: {
    async beforeCreate(values, { service, restored }) {
      calls.push(`beforeCreate ${restored}`);
      await service(room).lock(values.room);
      const taken = await service(booking).count({ room: values.room, from: values.from });
      if (taken > 0) throw new ApiError('CONFLICT', 'The room is taken');
    },
    afterCreate: (_record, { restored }) => void calls.push(`afterCreate ${restored}`),
  },
});
const seat = defineResource('seat', {
  fields: { room: f.ref('room', { onDelete: 'cascade' }), number: f.integer() },
  policies: open,
  softDelete: true,
  hooks: {
    async beforeCreate({ number }, { service, restored }) {
      calls.push(`seat ${restored}`);
      if ((await service(seat).count({ number: number ?? null })) > 0)
        throw new ApiError('CONFLICT', 'The seat is taken');
    },
  },
});
const draft = defineResource('draft', {
  fields: {
    title: f.string().required().max(10),
    slug: f.string().unique(),
    state: f.enum(['new', 'back']).default('new').readOnly(),
    secret: f.string().max(5).hidden(),
    ends: f.integer().check((value, record) => Number(value) > Number(record.starts) || 'Must be after starts'),
    starts: f.integer(),
    size: f.string().schema({
      '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: `${value}!` }) },
    }),
    optional: f.string().default('filled'),
  },
  policies: open,
  softDelete: true,
});
const task = defineResource('task', {
  fields: { title: f.string().required().max(10), state: f.enum(['open', 'restored']).default('open') },
  policies: open,
  softDelete: true,
  hooks: {
    beforeCreate: () => void calls.push('beforeCreate'),
    afterCreate: () => void calls.push('afterCreate'),
    beforeRestore(record, { as, restored }) {
      calls.push(`beforeRestore ${record.title.length} ${as} ${restored}`);
      if (record.title === 'refused') throw new ApiError('FORBIDDEN', 'Not this one');
      if (record.title === 'untouched') return undefined;
      return { title: record.title.slice(0, 10), state: 'restored' };
    },
    afterRestore: (record) => void calls.push(`afterRestore ${record.state}`),
  },
});
const { app, call, env } = await startTestApp(
  { resources: [defineUser(), room, booking, seat, draft, task], extensions: [softDelete()] },
  { env: () => ({ SVC_ENCRYPTION_KEYS: randomBytes(32).toString('base64') }) },
);
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());
const bookings = app.service(booking);
let hour = 0;
const nextTime = () => new Date(Date.UTC(2027, 0, 1, hour++)).toISOString();
const createRoom = async () => (await app.service(room).create({ name: 'Attic' })).id;
const createIn = async (path: string, values: object) =>
  (await call('POST', `/api/${path}`, values)).body.data.id as string;
const deleteAt = async (path: string, id: string) =>
  expect((await call('DELETE', `/api/${path}/${id}`)).status).toBe(204);
const restore = (path: string, id: string) => call('POST', `/api/${path}/${id}/restore`);
const isTaken = { status: 409, body: { error: { code: 'CONFLICT', message: 'The room is taken' } } };

async function createConflict() {
  const values = { room: await createRoom(), from: nextTime() };
  const first = await createIn('bookings', values);
  await deleteAt('bookings', first);
  const second = await createIn('bookings', values);
  return { first, second, values };
}

test('the rule of a beforeCreate hook refuses a restore over every door, and the record stays deleted', async () => {
  const { first, values } = await createConflict();
  expect(await restore('bookings', first)).toMatchObject(isTaken);
  await expect(bookings.restore(first)).rejects.toMatchObject({ code: 'CONFLICT' });
  await expect(app.transaction((tx) => tx.service(booking).restore(first))).rejects.toMatchObject({ code: 'CONFLICT' });
  const [failed] = await app.bulk.resource('booking').change([first], { action: 'restore' });
  expect(failed).toMatchObject({ code: 'CONFLICT', message: 'The room is taken' });
  expect(await bookings.count(values)).toBe(1);
  expect((await bookings.list({ deleted: 'only', ...values })).data.map(({ id }) => id)).toEqual([first]);
});

test('a restore runs beforeCreate and afterCreate, which learn that the record is restored', async () => {
  const id = await createIn('bookings', { room: await createRoom(), from: nextTime(), note: 'quiet' });
  expect(calls.splice(0)).toContain('beforeCreate false');
  await deleteAt('bookings', id);
  calls.length = 0;
  expect((await restore('bookings', id)).body.data).toMatchObject({ id, note: 'quiet' });
  await vi.waitUntil(() => calls.length > 1);
  expect(calls).toEqual(['beforeCreate true', 'afterCreate true']);
});

test('of many concurrent restores and creates of one time, one succeeds', async () => {
  const values = { room: await createRoom(), from: nextTime() };
  const deleted: string[] = [];
  for (let i = 0; i < 6; i++) {
    deleted.push(await createIn('bookings', values));
    await deleteAt('bookings', deleted.at(-1)!);
  }
  const responses = await Promise.all([
    ...deleted.map((id) => restore('bookings', id)),
    ...deleted.map(() => call('POST', '/api/bookings', values)),
  ]);
  expect(responses.filter(({ status }) => status < 300)).toHaveLength(1);
  expect(responses.filter(({ status }) => status === 409)).toHaveLength(11);
  expect(await bookings.count(values)).toBe(1);
});

test('two deleted records that exclude each other are not restored by one bulk action', async () => {
  const values = { room: await createRoom(), from: nextTime() };
  const ids: string[] = [];
  for (let i = 0; i < 2; i++) {
    ids.push(await createIn('bookings', values));
    await deleteAt('bookings', ids.at(-1)!);
  }
  const errors = await app.bulk.resource('booking').change(ids, { action: 'restore' });
  expect(errors.map((error) => error?.code)).toEqual([undefined, 'CONFLICT']);
});

test('the hook of a record that a cascade deleted refuses the restore of its target, and nothing is restored', async () => {
  const [attic, cellar] = [await createRoom(), await createRoom()];
  await createIn('seats', { room: attic, number: 1 });
  await deleteAt('rooms', attic);
  const other = await createIn('seats', { room: cellar, number: 1 });
  const { status, body } = await restore('rooms', attic);
  expect([status, body.error.message]).toEqual([409, 'The seat is taken']);
  expect((await call('GET', `/api/rooms/${attic}`)).status).toBe(404);
  await deleteAt('seats', other);
  calls.length = 0;
  expect((await restore('rooms', attic)).status).toBe(200);
  expect(await app.service(seat).count({ room: attic })).toBe(1);
  expect(calls).toEqual(['seat true']);
});

test('values that no longer meet the rules refuse a restore with a message for each field that the caller sees', async () => {
  const deletedWith = async (column: string, value: unknown) => {
    const id = await createIn('drafts', { title: 'Fine', starts: 1, ends: 2, size: 'big' });
    await deleteAt('drafts', id);
    await sql.query(`update drafts_deleted set ${column} = $2 where id = $1`, [id, value]);
    return id;
  };
  const detailsAfter = async (column: string, value: unknown) => {
    const { status, body } = await restore('drafts', await deletedWith(column, value));
    return [status, body.error.details];
  };
  expect(await detailsAfter('title', 'far too long')).toEqual([422, { title: expect.any(String) }]);
  expect(await detailsAfter('title', null)).toEqual([422, { title: 'Is required' }]);
  expect(await detailsAfter('starts', 7)).toEqual([422, { ends: 'Must be after starts' }]);
  expect(await detailsAfter('state', 'gone')).toEqual([422, { state: expect.any(String) }]);
  expect(await detailsAfter('secret', 'too long')).toEqual([409, undefined]);
  const ids = [await deletedWith('title', 'far too long'), await deletedWith('title', 'Good')];
  const errors = await app.bulk.resource('draft').change(ids, { action: 'restore' });
  expect(errors.map((error) => error?.code)).toEqual(['VALIDATION_ERROR', undefined]);
  await expect(app.service(draft).restore(await deletedWith('secret', 'too long'))).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    details: { secret: expect.any(String) },
  });
});

test('a restored record is as it was: schemas, defaults and the owner are not applied again', async () => {
  const made = (await call('POST', '/api/drafts', { title: 'Same', size: 'big', optional: 'x' })).body.data;
  expect(made).toMatchObject({ size: 'big!', optional: 'x' });
  await call('PATCH', `/api/drafts/${made.id}`, { optional: null });
  await deleteAt('drafts', made.id);
  const { updatedAt, optional: _cleared, ...rest } = made;
  const restored = (await restore('drafts', made.id)).body.data;
  expect(restored).toEqual({ ...rest, updatedAt: expect.any(String) });
  expect(restored.updatedAt > updatedAt).toBe(true);
});

test('a unique value that is taken refuses a restore with 409', async () => {
  const id = await createIn('drafts', { title: 'One', slug: 'same' });
  await deleteAt('drafts', id);
  await createIn('drafts', { title: 'Two', slug: 'same' });
  const { status, body } = await restore('drafts', id);
  expect([status, body.error.details]).toEqual([409, { slug: 'Is already taken' }]);
});

test('beforeRestore and afterRestore run instead of the hooks of creates, and beforeRestore may change values', async () => {
  const id = await createIn('tasks', { title: 'Short' });
  await deleteAt('tasks', id);
  await sql.query(`update tasks_deleted set title = 'longer than allowed' where id = $1`, [id]);
  calls.length = 0;
  expect((await restore('tasks', id)).body.data).toMatchObject({ title: 'longer tha', state: 'restored' });
  await vi.waitUntil(() => calls.length > 1);
  expect(calls).toEqual(['beforeRestore 19 user true', 'afterRestore restored']);
  const { rows } = await sql.query(`select payload from outbox where record_id = $1 and name = 'task.restored'`, [id]);
  expect(rows[0].payload.record).toMatchObject({ title: 'longer tha', state: 'restored' });
  const same = await createIn('tasks', { title: 'untouched' });
  await deleteAt('tasks', same);
  expect((await restore('tasks', same)).body.data).toMatchObject({ title: 'untouched', state: 'open' });
});

test('an error of beforeRestore refuses the restore', async () => {
  const id = await createIn('tasks', { title: 'refused' });
  await deleteAt('tasks', id);
  expect(await restore('tasks', id)).toMatchObject({ status: 403, body: { error: { message: 'Not this one' } } });
  await expect(app.service(task).restore(id)).rejects.toMatchObject({ code: 'FORBIDDEN' });
});

test('a hook for restores of a resource that keeps no deleted records is a configuration error', () => {
  expect(getStartupErrorOfOptions({ hooks: { beforeRestore: () => undefined } })).toContain(
    'hooks.beforeRestore: never runs, because deleted records are not kept; set softDelete: true',
  );
});
