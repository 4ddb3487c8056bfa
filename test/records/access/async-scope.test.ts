import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

let scopeCalls = 0;
const workspace = defineResource('workspace', { fields: { name: f.string() } });
const membership = defineResource('membership', {
  fields: { workspace: f.ref('workspace').required(), member: f.ref('user').required().index() },
});
const project = defineResource('project', {
  fields: {
    name: f.string().required(),
    workspace: f.ref('workspace').required(),
    next: f.ref('project').populate(),
    budget: f.integer().visibleTo(({ user, doc, service }) => isMember(service, user?.id, doc.workspace)),
  },
  policies: {
    list: 'authenticated',
    read: 'authenticated',
    create: ({ user }) => user !== undefined,
    update: ({ user, doc, service }) => isMember(service, user?.id, doc.workspace),
    delete: 'authenticated',
  },
  async scope({ user, service }) {
    scopeCalls += 1;
    if (user === undefined) return [];
    const { data } = await service('membership').list({ member: user.id, limit: 1000, count: 'none' });
    return { workspace: data.map((one) => one.workspace) };
  },
});

type Services = (name: string) => { list(query: object): Promise<{ data: Record<string, unknown>[] }> };
async function isMember(service: unknown, member: string | undefined, of: string): Promise<boolean> {
  const { data } = await (service as Services)('membership').list({ member });
  return data.some((one) => one.workspace === of);
}

const { app, person, call } = await startTestApp({ resources: [defineUser(), workspace, membership, project] });
const [ann, bob] = [await person('Ann'), await person('Bob')];
const home = (await app.service('workspace').create({ name: 'home' })).id;
const away = (await app.service('workspace').create({ name: 'away' })).id;
await app.service('membership').create({ workspace: home, member: ann.id });
await app.service('membership').create({ workspace: away, member: bob.id });
const far = await app.service('project').create({ name: 'far', workspace: away, budget: 2 });
const near = await app.service('project').create({ name: 'near', workspace: home, budget: 1, next: far.id });
const path = (one: { id: string }) => `/api/projects/${one.id}`;

test('an async scope can query a table of members: only members of a workspace see its projects', async () => {
  expect((await ann.call('GET', '/api/projects')).body).toMatchObject({
    data: [{ name: 'near', budget: 1 }],
    meta: { total: 1 },
  });
  expect((await bob.call('GET', '/api/projects')).body).toMatchObject({ data: [{ name: 'far' }], meta: { total: 1 } });
  expect((await call('GET', '/api/projects')).status).toBe(401);
  expect((await ann.call('GET', path(near))).body.data).toMatchObject({ name: 'near', next: far.id });
  expect((await ann.call('GET', path(far))).status).toBe(404);
  expect((await bob.call('GET', path(near))).status).toBe(404);
});

test('records outside an async scope can be neither updated nor deleted', async () => {
  for (const [method, body] of [
    ['PATCH', { name: 'mine' }],
    ['DELETE', undefined],
  ] as const) {
    expect((await bob.call(method, path(near), body)).status).toBe(404);
  }
  expect((await ann.call('PATCH', path(near), { name: 'nearer' })).body.data.name).toBe('nearer');
  expect((await ann.call('PATCH', path(near), { name: 'near' })).body.data.next).toBe(far.id);
  const deletedProject = await app.service('project').create({ name: 'gone', workspace: home });
  expect((await ann.call('DELETE', path(deletedProject))).status).toBe(204);
});

test('an async scope is evaluated once per operation, however often the operation needs it', async () => {
  scopeCalls = 0;
  const user = await app.service('user').read(ann.id);
  await app.service('project').update(near.id, { name: 'near' }, { user });
  expect(scopeCalls).toBe(1);
});

test('an async scope that fails is an error of the project and exposes no record', async () => {
  const broken = {
    ...user(),
    get id() {
      throw new Error('no id');
    },
  };
  await expect(app.service('project').list({}, { user: broken as never })).rejects.toThrow('no id');
});

test('in a transaction, scope and policies see its changes', async () => {
  const carl = await person('Carl');
  const user = await app.service('user').read(carl.id);
  await app.transaction(async (tx) => {
    await expect(tx.service('project').read(near.id, { user })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await tx.service('membership').create({ workspace: home, member: carl.id });
    expect(await tx.service('project').read(near.id, { user })).toMatchObject({ name: 'near' });
    await tx.service('project').update(near.id, { name: 'near' }, { user });
  });
});

function user() {
  return { id: ann.id };
}
