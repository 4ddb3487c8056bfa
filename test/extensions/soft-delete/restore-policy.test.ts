import { Client } from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { defineResource, defineUser, f, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const note = defineResource('note', {
  fields: { title: f.string(), open: f.boolean(), author: f.ref('user').owner() },
  policies: {
    list: 'public',
    read: 'public',
    create: 'authenticated',
    delete: ['owner | admin | moderator', ({ doc, user }) => user !== undefined && doc?.open === true],
  },
  softDelete: true,
  routes: (route) => [
    route.post('/:id/take-down', { policy: 'authenticated' }, ({ doc, service }) => service('note').delete(doc.id)),
  ],
});
const plain = defineResource('plain', {
  fields: { title: f.string(), author: f.ref('user').owner() },
  policies: { list: 'public', read: 'public' },
  softDelete: true,
});
const common = defineResource('common', {
  fields: { title: f.string(), author: f.ref('user').owner() },
  policies: { list: 'public', read: 'public', delete: 'owner | authenticated' },
  softDelete: true,
});

const { app, env, person } = await startTestApp({
  resources: [defineUser({ roles: ['user', 'admin', 'moderator'] }), note, plain, common],
  extensions: [softDelete()],
});
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());
const [ada, bob, mod] = [await person('Ada'), await person('Bob'), await person('Mod', ['user', 'moderator'])];
const root = await person('Root', ['user', 'admin']);
const both = await person('Both', ['user', 'admin', 'moderator']);
const people = { ada, bob, mod, root, both };
type Name = keyof typeof people;

async function made(values: object = {}, path = 'notes', by = ada): Promise<string> {
  const { status, body } = await by.call('POST', `/api/${path}`, { title: 'A', ...values });
  expect(status).toBe(201);
  return body.data.id;
}
const restore = async (who: Name, id: string, path = 'notes') =>
  (await people[who].call('POST', `/api/${path}/${id}/restore`)).status;
const listed = async (who: Name, path: string) =>
  (await people[who].call('GET', `/api/${path}?deleted=only`)).body.data.map(({ id }: { id: string }) => id);

/** Restores the record as each person and compares the statuses. Expected refusals run first, since a successful restore ends it. */
async function responses(id: string, expected: Partial<Record<Name, number>>, path = 'notes') {
  const found: Partial<Record<Name, number>> = {};
  const order = Object.entries(expected).sort(([, a], [, b]) => b - a) as [Name, number][];
  for (const [who] of order) found[who] = await restore(who, id, path);
  expect(found).toEqual(expected);
}

describe('a record can be restored', () => {
  test('by its owner if the owner deleted it, and by the roles of the policy', async () => {
    const id = await made();
    await ada.call('DELETE', `/api/notes/${id}`);
    await responses(id, { bob: 403, ada: 200 });
    await ada.call('DELETE', `/api/notes/${id}`);
    await responses(id, { mod: 200 });
  });

  test('only with the role under which it was deleted: not by its owner and not by another role', async () => {
    const id = await made();
    await root.call('DELETE', `/api/notes/${id}`);
    const { body } = await ada.call('POST', `/api/notes/${id}/restore`);
    expect(body.error).toMatchObject({ code: 'FORBIDDEN', message: expect.stringContaining('the role "admin"') });
    await responses(id, { bob: 403, ada: 403, mod: 403, root: 200 });
  });

  test('by each of the roles under which it was deleted, if the user had several', async () => {
    const id = await made();
    await both.call('DELETE', `/api/notes/${id}`);
    await responses(id, { ada: 403, mod: 200 });
    await both.call('DELETE', `/api/notes/${id}`);
    await responses(id, { ada: 403, root: 200 });
  });

  test('by an admin who deleted their own record, even after they lose the role', async () => {
    const boss = await person('Boss', ['user', 'admin']);
    const id = await made({}, 'notes', boss);
    await boss.call('DELETE', `/api/notes/${id}`);
    await app.service('user').update(boss.id, { roles: ['user'] });
    expect((await boss.call('POST', `/api/notes/${id}/restore`)).status).toBe(200);
  });

  test('not by its owner alone if a function of the policy let another user delete it', async () => {
    const id = await made({ open: true });
    expect((await bob.call('DELETE', `/api/notes/${id}`)).status).toBe(204);
    // The function allows every signed-in user while the note is open.
    await responses(id, { ada: 200 });
    await bob.call('DELETE', `/api/notes/${id}`);
    await app.service('note').restore(id);
    await app.service('note').update(id, { open: false });
    await app.service('note').delete(id);
    await responses(id, { ada: 403, bob: 403, mod: 200 });
  });

  test('not by its owner if code deleted it for another user or without a user', async () => {
    const id = await made();
    await app.service('note').delete(id);
    await responses(id, { ada: 403, root: 200 });
    expect((await bob.call('POST', `/api/notes/${id}/take-down`)).status).toBe(200);
    await responses(id, { ada: 403, bob: 403, mod: 200 });
  });

  test('by its owner if code deleted it during a request of the owner', async () => {
    const id = await made();
    await ada.call('POST', `/api/notes/${id}/take-down`);
    await responses(id, { ada: 200 });
  });

  test('by everyone if the policy lets everyone delete', async () => {
    const id = await made({}, 'commons');
    await root.call('DELETE', `/api/commons/${id}`);
    await responses(id, { ada: 200 }, 'commons');
  });

  test('as the policy says if it was deleted before Belfry stored the privilege', async () => {
    const id = await made();
    await root.call('DELETE', `/api/notes/${id}`);
    await database.query('update notes_deleted set deleted_under = null where id = $1', [id]);
    await responses(id, { bob: 403, ada: 200 });
  });

  test('by code, in every case', async () => {
    const id = await made();
    await root.call('DELETE', `/api/notes/${id}`);
    await expect(app.service('note').restore(id)).resolves.toMatchObject({ id });
    await root.call('DELETE', `/api/notes/${id}`);
    const user = { id: ada.id, roles: ['user'] };
    await expect(app.service('note').restore(id, { user })).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });
});

test('a list of deleted records contains exactly those that its reader may restore', async () => {
  const [own, moderated, byCode] = [await made({}, 'plains'), await made({}, 'plains'), await made({}, 'plains')];
  await ada.call('DELETE', `/api/plains/${own}`);
  await root.call('DELETE', `/api/plains/${moderated}`);
  await app.service('plain').delete(byCode);
  const live = await made({}, 'plains');
  expect(await listed('ada', 'plains')).toEqual([own]);
  expect(await listed('bob', 'plains')).toEqual([]);
  expect(new Set(await listed('root', 'plains'))).toEqual(new Set([own, moderated, byCode]));
  const all = (await ada.call('GET', '/api/plains?deleted=with')).body.data.map(({ id }: { id: string }) => id);
  expect(new Set(all)).toEqual(new Set([own, live]));
  const next = (await ada.call('GET', '/api/plains?deleted=with&limit=1')).body.meta.next;
  expect((await ada.call('GET', `/api/plains?deleted=with&limit=1&after=${next}`)).body.data).toHaveLength(1);
});
