// The deletion of organisations, and lists of deleted records under policies that filters decide, such as roles in organisations.
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

const project = defineResource('project', { fields: { organisation: tenant(), name: f.string().required() } });
const task = defineResource('task', {
  fields: {
    organisation: tenant(),
    project: f.ref('project', { onDelete: 'restrict' }),
    blockedBy: f.ref('task', { onDelete: 'restrict' }),
  },
});
/** The ids of the deleted steps and plans. */
const deleted: string[] = [];
const hooks = { beforeDelete: ({ id }: { id: string }) => void deleted.push(id) };
const step = defineResource('step', {
  fields: {
    organisation: tenant(),
    next: f.ref('step', { onDelete: 'restrict' }),
    others: f.refs('step', { onDelete: 'restrict' }),
    plan: f.ref('plan', { onDelete: 'restrict' }),
  },
  hooks,
  softDelete: true,
});
const plan = defineResource('plan', {
  fields: { organisation: tenant(), first: f.ref('step', { onDelete: 'restrict' }) },
  hooks,
});
// Does not belong to organisations, so its references still restrict.
const pin = defineResource('pin', { fields: { step: f.ref('step', { onDelete: 'restrict' }) } });
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
const { app, person } = await startTestApp(
  {
    resources: [defineUser(), project, task, plan, step, pin, ticket, note, peeking],
    extensions: [organisations(), softDelete()],
    settings: { relay: { sweepMs: 50, pollMs: 50 } },
  },
  { roles: 'all' },
);
const { organisations: api } = app as typeof app & { organisations: OrganisationsApi };
const [owner, admin, member, stranger] = [
  await person('owner'),
  await person('admin'),
  await person('member'),
  await person('stranger'),
];
type Caller = typeof owner;

const listDeleted = async ({ call }: Caller, path: string) => {
  const { status, body } = await call('GET', `/api/${path}?deleted=only`);
  return status === 200 ? body.data.map(({ id }: { id: string }) => id) : status;
};

test('the deletion of an organisation completes although its records refer to each other by references that restrict deletions', async () => {
  const { id: organisation } = await api.create({ name: 'Acme' }, owner.id);
  const { id } = await app.service('project').create({ organisation, name: 'p' });
  const [first, second] = [
    await app.service('task').create({ organisation, project: id }),
    await app.service('task').create({ organisation, project: id }),
  ];
  // The older task refers to the newer one, and the newer one to the newest.
  const third = await app.service('task').create({ organisation });
  await app.service('task').update(first.id, { blockedBy: second.id });
  await app.service('task').update(second.id, { blockedBy: third.id });
  await api.delete(organisation);
  const left = async () => (await app.service('project').count()) + (await app.service('task').count());
  await expect.poll(left, { timeout: 60_000, interval: 50 }).toBe(0);
});

test('records of an organisation that refer to each other in circles with restrict are deleted, each with its hooks', async () => {
  const [plans, steps, pins] = [app.service('plan'), app.service('step'), app.service('pin')];
  const { id: organisation } = await api.create({ name: 'Acme' }, owner.id);
  const { id: kept } = await api.create({ name: 'Kept' }, owner.id);
  const createStep = (values: object = {}) => steps.create({ organisation, ...values } as never);

  const alone = await createStep();
  await steps.update(alone.id, { next: alone.id });
  const [a, b] = [await createStep(), await createStep()];
  await steps.update(a.id, { next: b.id });
  await steps.update(b.id, { others: [a.id, b.id] });
  const root = await plans.create({ organisation });
  const c = await createStep({ plan: root.id, next: a.id });
  await plans.update(root.id, { first: c.id });
  const foreign = await steps.create({ organisation: kept });
  await steps.update(foreign.id, { next: foreign.id });
  const [x, y] = [await createStep(), await createStep()];
  await steps.update(x.id, { next: y.id });
  await steps.update(y.id, { next: x.id });
  const pinned = await pins.create({ step: x.id });

  await api.delete(organisation);
  const left = async () => (await plans.count({ organisation })) + (await steps.count({ organisation }));
  await expect.poll(left, { timeout: 60_000, interval: 50 }).toBe(2);
  await pins.delete(pinned.id);
  await expect.poll(left, { timeout: 120_000, interval: 50 }).toBe(0);
  const all = [alone, a, b, c, root, x, y].map(({ id }) => id);
  expect([...new Set(deleted)].sort()).toEqual(all.sort());
  expect(await steps.read(foreign.id)).toMatchObject({ organisation: kept });
});

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
