// Lists of deleted records under policies that filters decide, such as roles in organisations.
import { expect, test } from 'vitest';
import {
  defineResource,
  defineUser,
  f,
  type OrganisationsApi,
  organisations,
  softDelete,
  tenant,
} from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const ticket = defineResource('ticket', {
  fields: { organisation: tenant(), title: f.string() },
  policies: { delete: 'org:admin' },
  softDelete: true,
});
const note = defineResource('note', {
  fields: { shared: f.boolean(), author: f.ref('user').owner() },
  policies: {
    list: 'public',
    read: ['owner', ({ user }) => user !== undefined && { shared: true }],
    create: 'authenticated',
    delete: ['owner', ({ user }) => user !== undefined && { shared: true }],
  },
  softDelete: true,
});
const peeking = defineResource('peeking', {
  fields: { title: f.string() },
  policies: { list: 'public', read: 'public', delete: (args) => args.doc?.title !== 'secret' },
  softDelete: true,
});
const { app, person } = await startTestApp({
  resources: [defineUser(), ticket, note, peeking],
  extensions: [organisations(), softDelete()],
});
const { organisations: api } = app as typeof app & { organisations: OrganisationsApi };
const [owner, admin, member, stranger] = [
  await person('owner'),
  await person('admin'),
  await person('member'),
  await person('stranger'),
];
type Caller = typeof owner;

const listDeleted = async ({ call }: Caller, path: string, deleted = 'only') => {
  const { status, body } = await call('GET', `/api/${path}?deleted=${deleted}`);
  return status === 200 ? body.data.map(({ id }: { id: string }) => id) : status;
};

test('an admin of an organisation lists and restores the deleted records of that organisation only', async () => {
  const { id: acme } = await api.create({ name: 'Acme' }, owner.id);
  const { id: other } = await api.create({ name: 'Other' }, stranger.id);
  await api.addMember(acme, admin.id, 'admin');
  await api.addMember(acme, member.id, 'member');
  await api.addMember(other, admin.id, 'member');
  const [gone, kept] = await app.service('ticket').createMany([{ organisation: acme }, { organisation: acme }]);
  const hidden = await app.service('ticket').create({ organisation: other });
  for (const id of [gone!.id, hidden.id]) await app.service('ticket').delete(id);
  const listed = async (caller: Caller, deleted?: string) => {
    const headers = { 'x-organisation': acme };
    const { status, body } = await caller.call('GET', `/api/tickets?deleted=${deleted ?? 'only'}`, undefined, headers);
    return status === 200 ? body.data.map(({ id }: { id: string }) => id).toSorted() : status;
  };
  expect(await listed(admin)).toEqual([gone!.id]);
  expect(await listed(owner)).toEqual([gone!.id]);
  expect(await listed(admin, 'with')).toEqual([gone!.id, kept!.id].toSorted());
  expect(await listed(member)).toEqual([]);
  // Without a current organisation, all organisations of the admin count, each by the role in it.
  expect(await listDeleted(admin, 'tickets')).toEqual([gone!.id]);
  expect((await member.call('POST', `/api/tickets/${gone!.id}/restore`)).status).toBe(403);
  expect((await admin.call('POST', `/api/tickets/${gone!.id}/restore`)).status).toBe(200);
});

test('a list of deleted records has exactly those that the viewer may restore, by ownership or by a filter', async () => {
  const create = async (caller: Caller, shared: boolean) =>
    (await caller.call('POST', '/api/notes', { shared })).body.data.id as string;
  const [own, shared, foreign] = [await create(member, false), await create(owner, true), await create(owner, false)];
  // Deleted by its owner, by code, and by its owner.
  await member.call('DELETE', `/api/notes/${own}`);
  await app.service('note').delete(shared);
  await owner.call('DELETE', `/api/notes/${foreign}`);
  // Moderated: the owner may not undo it.
  const moderated = await create(member, false);
  await app.service('note').delete(moderated);
  for (const caller of [member, owner, stranger]) {
    const listed = await listDeleted(caller, 'notes');
    const restorable: string[] = [];
    for (const id of [own, shared, foreign, moderated]) {
      const { status } = await caller.call('POST', `/api/notes/${id}/restore`);
      if (status !== 200) continue;
      restorable.push(id);
      if (id === shared) await app.service('note').delete(id);
      else await caller.call('DELETE', `/api/notes/${id}`);
    }
    expect(listed.toSorted()).toEqual(restorable.toSorted());
  }
});

test('a policy function that reads the record still refuses lists of deleted records', async () => {
  const { id } = await app.service('peeking').create({ title: 'secret' });
  await app.service('peeking').delete(id);
  expect(await listDeleted(stranger, 'peekings')).toBe(403);
});
