import { Client } from 'pg';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { ApiError, createApp, defineResource, defineUser, f, type HookContext, webhooks } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

type HookAction = (ctx: HookContext, record: { id?: string }) => unknown;
/** The actions of the hooks of `post`, by title. */
const acts = new Map<string | undefined, HookAction>();
const seen: string[] = [];

const open = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
const note = defineResource('note', {
  fields: { text: f.string().required().unique() },
  policies: open,
  hooks: {
    async beforeCreate(values, { service }) {
      if (values.text.startsWith('nested')) await service(count).create({ of: values.text });
    },
    afterCreate: (record) => void seen.push(`after ${record.text}`),
  },
});
const count = defineResource('count', { fields: { of: f.string() }, policies: open });
const post = defineResource('post', {
  fields: { title: f.string().required(), slug: f.string().unique().max(10), views: f.integer().default(0) },
  policies: open,
  hooks: {
    beforeCreate: (values, ctx) => acts.get(values.title)?.(ctx, {}),
    afterCreate: (record) => void seen.push(`after ${record.title}`),
    beforeUpdate: (changes, record, ctx) => acts.get(changes.title)?.(ctx, record),
    beforeDelete: (record, ctx) => acts.get(record.title)?.(ctx, record),
  },
});
const sent = webhooks({ events: { 'post.told': { schema: z.object({ text: z.string() }) } } });

const resources = [defineUser(), note, count, post] as const;
// Without a relay, events stay in the outbox.
const running = await startTestApp({
  resources,
  extensions: [sent],
  listeners(made) {
    for (const name of ['note.created', 'note.updated', 'post.created']) {
      made.on<{ record: { text?: string; title?: string } }>(name, ({ record }) => {
        seen.push(`${name} ${record.text ?? record.title}`);
      });
    }
  },
});
const { call, env } = running;
const typed = () => createApp({ resources, extensions: [sent] }, env);
// The type of `running.app` does not include the APIs of extensions.
const app = running.app as unknown as ReturnType<typeof typed>;
const notes = app.service(note);
const database = new Client({ connectionString: env.DATABASE_URL });
await database.connect();
afterAll(() => database.end());
afterEach(() => {
  acts.clear();
  seen.length = 0;
});

const rowOf = async (text: string, values: unknown[] = []) => (await database.query(text, values)).rows[0];
const openTransactions = async () =>
  (
    await rowOf(
      `select count(*)::int as n from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
    )
  ).n;
const send = (title: string, more: object = {}) => call('POST', '/api/posts', { title, ...more });

test('writes of a before hook are committed with the record, and their events follow in the order of the writes', async () => {
  acts.set('told', async ({ service }) => {
    const { id } = await service(note).create({ text: 'first' });
    await service(note).update(id, { text: 'second' });
    // The hook sees its own writes; no other request does.
    expect(await service(note).count({ text: 'second' })).toBe(1);
    expect((await service(note).read(id)).text).toBe('second');
    expect((await call('GET', '/api/notes')).body.meta.total).toBe(0);
    expect(seen).toEqual([]);
  });
  expect((await send('told')).status).toBe(201);
  expect(await notes.count({ text: 'second' })).toBe(1);
  expect(seen).toEqual(['note.created first', 'after first', 'note.updated second', 'post.created told', 'after told']);
});

test.each<[string, number, HookAction, object]>([
  ['is a duplicate', 409, () => undefined, { slug: 'taken' }],
  ['is refused by the hook', 403, () => Promise.reject(new ApiError('FORBIDDEN')), {}],
  ['fails in the hook', 500, () => Promise.reject(new Error('inside')), {}],
  ['is made invalid by the hook', 422, () => ({ title: 'x', slug: 'longer than it may be' }), {}],
])('the writes of a before hook are rolled back when the record %s', async (_what, status, then, more) => {
  await app
    .service(post)
    .create({ title: 'there', slug: 'taken' })
    .catch(() => undefined);
  seen.length = 0;
  const before = await rowOf('select count(*)::int as n from outbox');
  acts.set('undone', async (ctx, record) => {
    await ctx.service(note).create({ text: 'nested, undone' });
    await app.webhooks.publish('post.told', { text: 'undone' });
    return then(ctx, record);
  });
  expect((await send('undone', more)).status).toBe(status);
  expect([await notes.count({ text: 'nested, undone' }), await app.service(count).count()]).toEqual([0, 0]);
  expect(await rowOf('select count(*)::int as n from outbox')).toEqual(before);
  expect([seen, await openTransactions()]).toEqual([[], 0]);
});

test('an event that a before hook publishes is stored with the record', async () => {
  acts.set('published', async () => {
    await app.webhooks.publish('post.told', { text: 'kept' });
  });
  expect((await send('published')).status).toBe(201);
  const stored = await rowOf(`select count(*)::int as n from outbox where payload::text like '%kept%'`);
  expect(stored.n).toBe(1);
});

test('a change that is retried commits the writes of its hook once', async () => {
  const { id } = await app.service(post).create({ title: 'x' });
  acts.set('again', async ({ service }) => {
    await service(count).create({ of: 'again' });
  });
  const change = (views: number) => call('PATCH', `/api/posts/${id}`, { title: 'again', views });
  const responses = await Promise.all(Array.from({ length: 30 }, (_, n) => change(n)));
  const changed = responses.filter(({ status }) => status === 200).length;
  expect(changed).toBeGreaterThan(0);
  expect(await app.service(count).count({ of: 'again' })).toBe(changed);
});

test('the writes of a delete hook are committed once, and not at all if the record is kept', async () => {
  const { id } = await app.service(post).create({ title: 'removed' });
  acts.set('removed', async ({ service }) => {
    await service(note).create({ text: 'a removal' });
    if ((await service(post).count({ slug: 'keep' })) > 0) throw new ApiError('CONFLICT', 'Keep it');
  });
  const keep = await app.service(post).create({ title: 'x', slug: 'keep' });
  expect((await call('DELETE', `/api/posts/${id}`)).status).toBe(409);
  expect(await notes.count({ text: 'a removal' })).toBe(0);
  await app.service(post).delete(keep.id);
  expect((await call('DELETE', `/api/posts/${id}`)).status).toBe(204);
  expect(await notes.count({ text: 'a removal' })).toBe(1);
});

test('a hook that only reads costs no transaction, and one that writes has a transaction from its first write', async () => {
  const counted: number[] = [];
  acts.set('counted', async ({ service }) => {
    await service(post).count();
    counted.push(await openTransactions());
    await service(note).create({ text: 'counted' });
    counted.push(await openTransactions());
  });
  await send('counted');
  expect([counted, await openTransactions()]).toEqual([[0, 1], 0]);
});

test('a failed write is rolled back alone: the hook can catch its error and continue', async () => {
  acts.set('caught', async ({ service }) => {
    await service(note).create({ text: 'unique' });
    await expect(service(note).create({ text: 'unique' })).rejects.toMatchObject({ code: 'CONFLICT' });
    await service(note).create({ text: 'unique too' });
  });
  expect((await send('caught')).status).toBe(201);
  expect(await notes.count({ text: ['unique', 'unique too'] })).toBe(2);
});

test('a hook can use services of the app until its first write; afterwards they throw, since they would wait for its locks', async () => {
  acts.set('elsewhere', async ({ service }) => {
    const { id } = await notes.create({ text: 'outside' });
    await service(note).update(id, { text: 'inside' });
    await expect(notes.update(id, { text: 'outside again' })).rejects.toThrow(
      'use tx.service, or the service of the hook',
    );
    throw new ApiError('CONFLICT');
  });
  expect((await send('elsewhere')).status).toBe(409);
  // It was not part of the transaction.
  expect(await notes.count({ text: 'outside' })).toBe(1);
});

test('inside a transaction of code, hooks write in that transaction', async () => {
  acts.set('within', async ({ service }) => {
    await service(note).create({ text: 'within' });
  });
  const failed = app.transaction(async (tx) => {
    await tx.service(post).create({ title: 'within' });
    expect(await tx.service(note).count({ text: 'within' })).toBe(1);
    throw new Error('no');
  });
  await expect(failed).rejects.toThrow('no');
  expect(await notes.count({ text: 'within' })).toBe(0);
});

test('work that a hook starts without awaiting continues outside the transaction once the record is written', async () => {
  const go = Promise.withResolvers<void>();
  const late = vi.fn();
  acts.set('late', ({ service }) => {
    go.promise.then(() => service(note).create({ text: 'late' })).then(late, late);
  });
  expect((await send('late')).status).toBe(201);
  go.resolve();
  await vi.waitUntil(() => late.mock.calls.length > 0, { timeout: 60_000, interval: 20 });
  expect(late).toHaveBeenCalledWith(expect.objectContaining({ text: 'late' }));
  expect([await notes.count({ text: 'late' }), seen.includes('after late')]).toEqual([1, true]);
});

test('a hook that locks a record before its check lets one of many concurrent requests through', async () => {
  const { id } = await app.service(count).create({ of: 'room' });
  acts.set('booked', async ({ service }) => {
    await service(count).lock(id);
    if ((await service(post).count({ title: 'booked' })) > 0) throw new ApiError('CONFLICT', 'Taken');
  });
  const responses = await Promise.all(Array.from({ length: 12 }, () => send('booked')));
  expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(11).fill(409)]);
  expect(await app.service(post).count({ title: 'booked' })).toBe(1);
});
