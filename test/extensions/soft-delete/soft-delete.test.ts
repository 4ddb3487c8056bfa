import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { defineResource, defineUser, f, softDelete, webhooks } from '../../../src/index.ts';
import { startReceiver } from '../../fakes/receiver.ts';
import { startTestApp } from '../../support/app.ts';

const note = defineResource('note', {
  fields: {
    title: f.string().required().searchable().sortable(),
    slug: f.string().unique().filterable(),
    iban: f.string().encrypted(),
    secret: f.string().hidden(),
    author: f.ref('user').owner(),
  },
  policies: { list: 'public', read: 'public', create: 'authenticated' },
  softDelete: true,
});
const comment = defineResource('comment', {
  fields: { note: f.ref('note').populate(), text: f.string() },
  policies: { list: 'public', read: 'public', create: 'public' },
});
const plain = defineResource('plain', {
  fields: { title: f.string() },
  policies: { list: 'public', read: 'public', create: 'public', delete: 'public' },
});
const judged = defineResource('judged', {
  fields: { title: f.string(), open: f.boolean() },
  policies: { list: 'public', read: 'public', create: 'public', delete: [({ doc }) => doc?.open === true, 'admin'] },
  softDelete: true,
});
const untimed = defineResource('untimed', {
  fields: { title: f.string() },
  policies: { list: 'public', read: 'public', create: 'public', delete: 'public' },
  timestamps: false,
  softDelete: true,
});
const stamped = defineResource('stamped', {
  fields: { updated_at: f.string() },
  policies: { read: 'public', create: 'public', delete: 'public' },
  timestamps: false,
  softDelete: true,
});

const { app, call, person, env } = await startTestApp(
  {
    resources: [defineUser(), note, comment, plain, judged, untimed, stamped],
    extensions: [softDelete({ keepDays: 7 }), webhooks({ allowPrivate: true, requireHttps: false })],
  },
  { roles: 'all', env: () => ({ SVC_ENCRYPTION_KEYS: randomBytes(32).toString('base64') }) },
);
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());
const [ada, bob, root] = [await person('Ada'), await person('Bob'), await person('Root', ['user', 'admin'])];

let count = 0;
async function deletedNote(values: Record<string, unknown> = {}) {
  const { data } = (await ada.call('POST', '/api/notes', { title: `Note ${++count}`, ...values })).body;
  expect((await ada.call('DELETE', `/api/notes/${data.id}`)).status).toBe(204);
  return data;
}
const titles = async (client: typeof call, query: string) =>
  (await client('GET', `/api/notes?${query}`)).body.data.map(({ title }: { title: string }) => title);

beforeEach(async () => {
  await database.query('delete from notes; delete from notes_deleted');
});

describe('a deleted record is invisible', () => {
  test('to reads, lists, filters, searches, totals and changes, for every caller', async () => {
    const { id, slug } = await deletedNote({ title: 'Gone', slug: 'gone' });
    for (const client of [call, ada.call, root.call]) {
      expect((await client('GET', `/api/notes/${id}`)).status).toBe(404);
      expect((await client('GET', '/api/notes')).body.meta.total).toBe(0);
      expect(await titles(client, `slug=${slug}`)).toEqual([]);
      expect(await titles(client, 'q=Gone')).toEqual([]);
    }
    expect((await ada.call('PATCH', `/api/notes/${id}`, { title: 'Back' })).status).toBe(404);
    expect((await ada.call('DELETE', `/api/notes/${id}`)).status).toBe(404);
    await expect(app.service('note').read(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('to unique checks, so that its value can be used again', async () => {
    await deletedNote({ slug: 'taken' });
    expect((await bob.call('POST', '/api/notes', { title: 'Mine', slug: 'taken' })).status).toBe(201);
  });

  test('but still referenced by its id in other records', async () => {
    const { data } = (await ada.call('POST', '/api/notes', { title: 'Named' })).body;
    const made = (await call('POST', '/api/comments', { note: data.id, text: 'Yes' })).body.data;
    await ada.call('DELETE', `/api/notes/${data.id}`);
    expect((await call('GET', `/api/comments/${made.id}`)).body.data.note).toBe(data.id);
  });
});

describe('users who may delete a record may restore it', () => {
  test('with all its values, encrypted and hidden ones too, and with a new version', async () => {
    const { data: made } = (await ada.call('POST', '/api/notes', { title: 'Back', slug: 'back', iban: 'CH93' })).body;
    await app.service('note').update(made.id, { secret: 'kept' });
    const before = (await ada.call('GET', `/api/notes/${made.id}`)).body.data;
    await ada.call('DELETE', `/api/notes/${made.id}`);
    const { status, body } = await ada.call('POST', `/api/notes/${made.id}/restore`);
    expect([status, body.data]).toEqual([200, { ...before, updatedAt: expect.any(String) }]);
    expect(body.data.updatedAt > before.updatedAt).toBe(true);
    expect((await call('GET', `/api/notes/${made.id}`)).body.data).toEqual(body.data);
    expect((await app.service('note').read(made.id)).secret).toBe('kept');
    expect((await database.query('select * from notes_deleted')).rows).toEqual([]);
  });

  test.each([
    ['a signed-out client gets 401', call, 401],
    ['another user who may read the record gets 403', bob.call, 403],
    ['an admin gets 200', root.call, 200],
  ])('%s', async (_who, client, status) => {
    const { id } = await deletedNote();
    expect((await client('POST', `/api/notes/${id}/restore`)).status).toBe(status);
  });

  test('restoring a record that is not deleted, never existed or has a malformed id responds 404', async () => {
    const { data } = (await ada.call('POST', '/api/notes', { title: 'Here' })).body;
    for (const id of [data.id, 'f'.repeat(24), 'nonsense']) {
      expect((await ada.call('POST', `/api/notes/${id}/restore`)).status).toBe(404);
    }
  });

  test('If-Match must name the version that was deleted', async () => {
    const { body, headers } = await ada.call('POST', '/api/notes', { title: 'Tagged' });
    const tag = headers.get('etag')!;
    const at = `/api/notes/${body.data.id}`;
    expect((await ada.call('PATCH', at, { title: 'Newer' })).status).toBe(200);
    const newer = (await ada.call('GET', at)).headers.get('etag')!;
    await ada.call('DELETE', at);
    const restore = async (header: string) =>
      (await ada.call('POST', `${at}/restore`, undefined, { 'if-match': header })).status;
    expect([await restore('nonsense'), await restore(tag), await restore(newer)]).toEqual([400, 412, 200]);
  });

  test('a restore that would duplicate a unique value responds 409 and names the field; the record stays deleted', async () => {
    const { id } = await deletedNote({ slug: 'wanted' });
    await bob.call('POST', '/api/notes', { title: 'Mine', slug: 'wanted' });
    const { status, body } = await ada.call('POST', `/api/notes/${id}/restore`);
    expect([status, body.error.details]).toEqual([409, { slug: 'Is already taken' }]);
    expect(await titles(ada.call, 'deleted=only')).toHaveLength(1);
  });

  test('if its id was used again and deleted again, the latest record is restored', async () => {
    const { id } = await deletedNote({ title: 'First', slug: 'first', iban: 'CH93' });
    await database.query(`insert into notes (id, title, author) values ($1, 'Second', $2)`, [id, ada.id]);
    expect((await ada.call('DELETE', `/api/notes/${id}`)).status).toBe(204);
    const { status, body } = await ada.call('POST', `/api/notes/${id}/restore`);
    expect([status, body.data.title, body.data.slug, body.data.iban]).toEqual([200, 'Second', undefined, undefined]);
  });

  test('of twenty concurrent restores one succeeds', async () => {
    const { id } = await deletedNote();
    const all = await Promise.all(Array.from({ length: 20 }, () => ada.call('POST', `/api/notes/${id}/restore`)));
    expect(all.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(404)]);
  });

  test('a policy function is called with the record', async () => {
    const closed = (await call('POST', '/api/judgeds', { title: 'Closed', open: false })).body.data;
    const open = (await call('POST', '/api/judgeds', { title: 'Open', open: true })).body.data;
    await app.service('judged').delete(closed.id);
    await bob.call('DELETE', `/api/judgeds/${open.id}`);
    expect((await bob.call('POST', `/api/judgeds/${closed.id}/restore`)).status).toBe(403);
    expect((await bob.call('POST', `/api/judgeds/${open.id}/restore`)).status).toBe(200);
  });

  test('a resource without timestamps can be restored too', async () => {
    const { id } = (await call('POST', '/api/untimeds', { title: 'Untimed' })).body.data;
    await call('DELETE', `/api/untimeds/${id}`);
    expect((await call('GET', '/api/untimeds?deleted=only')).body.data).toEqual([
      { id, title: 'Untimed', deletedAt: expect.stringMatching(/^20.*Z$/) },
    ]);
    expect((await call('POST', `/api/untimeds/${id}/restore`)).body.data).toEqual({ id, title: 'Untimed' });
  });

  test('code restores through the service, in a transaction or outside one', async () => {
    const [one, two] = [await deletedNote(), await deletedNote()];
    await app.service('note').restore(one.id);
    await expect(
      app.transaction(async ({ service }) => {
        await service('note').restore(two.id);
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(await titles(call, '')).toEqual([one.title]);
    await expect(app.service('plain').restore(one.id)).rejects.toThrow('resource "plain" does not use softDelete');
  });
});

describe('deleted records are listed for users who may restore them', () => {
  test('deleted=only lists an owner their own and an admin all of them, with deletedAt', async () => {
    const { id, title } = await deletedNote();
    await bob.call('POST', '/api/notes', { title: 'Not deleted' });
    expect(await titles(bob.call, 'deleted=only')).toEqual([]);
    for (const client of [ada.call, root.call]) {
      const { body } = await client('GET', '/api/notes?deleted=only');
      expect(body.data).toEqual([expect.objectContaining({ id, title, deletedAt: expect.stringMatching(/^20.*Z$/) })]);
      expect(body.data[0]).not.toHaveProperty('secret');
      expect(body.meta.total).toBe(1);
    }
  });

  test('deleted=with lists everything that the reader may list, and the deleted records that the reader may restore', async () => {
    const gone = await deletedNote({ title: 'A' });
    await bob.call('POST', '/api/notes', { title: 'B' });
    expect(await titles(ada.call, 'deleted=with&sort=title')).toEqual(['A', 'B']);
    expect(await titles(bob.call, 'deleted=with&sort=title')).toEqual(['B']);
    const { data } = (await ada.call('GET', '/api/notes?deleted=with&sort=title&fields=title,deletedAt')).body;
    expect(data).toEqual([
      { id: gone.id, title: 'A', deletedAt: expect.any(String) },
      { id: expect.any(String), title: 'B' },
    ]);
  });

  test('filters, search, sort and cursors work on deleted records', async () => {
    for (const title of ['a1', 'a2', 'a3', 'b']) await deletedNote({ title });
    await ada.call('POST', '/api/notes', { title: 'a4' });
    const first = (await ada.call('GET', '/api/notes?deleted=with&q=a&sort=title&limit=2')).body;
    const nextPage = (await ada.call('GET', `/api/notes?deleted=with&q=a&sort=title&limit=2&after=${first.meta.next}`))
      .body;
    expect([...first.data, ...nextPage.data].map(({ title }: { title: string }) => title)).toEqual([
      'a1',
      'a2',
      'a3',
      'a4',
    ]);
    expect(first.meta.total).toBe(4);
  });

  test.each([
    ['a client that is signed out', call, '/api/notes?deleted=only', 401],
    ['a user whose permission a policy function decides', bob.call, '/api/judgeds?deleted=only', 403],
    ['another value of the parameter', ada.call, '/api/notes?deleted=yes', 400],
    ['a resource without soft delete', ada.call, '/api/plains?deleted=only', 400],
  ])('%s is refused', async (_who, client, path, status) => {
    expect((await client('GET', path)).status).toBe(status);
  });
});

test('listeners and webhooks receive .deleted and .restored', async () => {
  const events: string[] = [];
  app.on('note.deleted', ({ action }) => void events.push(action));
  app.on('note.restored', ({ action, record, user }) => void events.push(action, record.title, user!.id));
  expect(() => app.on('plain.restored' as never, () => undefined)).toThrow('There is no event "plain.restored"');
  const receiver = await startReceiver();
  const wrong = await ada.call('POST', '/api/webhooks', { url: receiver.url, events: ['plain.restored'] });
  expect(wrong.status).toBe(422);
  const made = await ada.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.*'] });
  expect(made.status).toBe(201);
  const { id, title } = await deletedNote();
  await ada.call('POST', `/api/notes/${id}/restore`);
  await vi.waitUntil(() => events.length === 4, { timeout: 60_000 });
  expect(events).toEqual(['deleted', 'restored', title, ada.id]);
  // A new endpoint may still receive events of earlier tests.
  const ofThis = () => receiver.requests.map(({ body }) => JSON.parse(body)).filter(({ data }) => data.id === id);
  const types = () =>
    ofThis()
      .map(({ type }) => type)
      .sort();
  await vi.waitUntil(() => types().length === 3, { timeout: 60_000 });
  expect(types()).toEqual(['note.created', 'note.deleted', 'note.restored']);
});

test('a record that was deleted longer ago than keepDays is removed for good; all others stay', async () => {
  const [old, young] = [await deletedNote(), await deletedNote()];
  await database.query(`update notes_deleted set deleted_at = now() - interval '7 days 1 second' where id = $1`, [
    old.id,
  ]);
  const purge = softDelete({ keepDays: 7 }).setup({ ...purgeHost() } as never).sweeps!;
  for (const sweep of purge) await sweep.run();
  const { rows } = await database.query('select id from notes_deleted');
  expect(rows).toEqual([{ id: young.id }]);
});

function purgeHost() {
  const write = async ({ text, values }: { text: string; values: unknown[] }) =>
    (await database.query({ text, values, rowMode: 'array' })).rows;
  return { resources: [{ name: 'note', archiveTable: 'notes_deleted' }], database: { write } };
}

test('a restore leaves the project’s own fields unchanged, even one that is named like a timestamp', async () => {
  const { data } = (await call('POST', '/api/stampeds', { updated_at: 'long ago' })).body;
  expect((await call('DELETE', `/api/stampeds/${data.id}`)).status).toBe(204);
  const restored = await call('POST', `/api/stampeds/${data.id}/restore`);
  expect([restored.status, restored.body.data]).toEqual([200, data]);
});
