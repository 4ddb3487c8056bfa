import { expect, test } from 'vitest';
import type { Policy } from '../../../src/declare/policy.ts';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const fields = { title: f.string(), open: f.boolean().default(false), author: f.ref('user').owner() };
const owned = (name: string, policies: Partial<Record<'list' | 'read' | 'create' | 'update' | 'delete', Policy>>) =>
  defineResource(name, { fields, policies });

const later = async (value: boolean) => {
  await new Promise((resolve) => setTimeout(resolve, 1));
  return value;
};
const resources = [
  defineUser({ roles: ['editor'] }),
  owned('plain', {}),
  defineResource('unowned', { fields: { title: f.string() } }),
  owned('private', { list: 'owner | admin', read: 'owner | admin', create: 'owner', update: 'owner', delete: 'owner' }),
  owned('readable', {
    list: 'public',
    read: 'public',
    create: 'editor',
    update: 'owner | role:editor',
    delete: 'none',
  }),
  owned('closed', { list: 'none', read: 'nobody', create: 'none', update: 'none', delete: 'none' }),
  owned('managed', { read: 'owner', update: 'admin', delete: 'admin' }),
  owned('dropped', { read: 'owner', update: ({ doc }) => later(doc.open), delete: ({ doc }) => later(doc.open) }),
  owned('asked', {
    read: ['owner', ({ doc }) => later(doc.open)],
    update: ({ doc, user, action }) => later(action === 'update' && doc.open && user !== undefined),
    delete: [({ doc }) => later(doc.open), 'admin'],
    create: ({ user, doc }) => doc === undefined && user?.name === 'Ann',
    list: async ({ user, doc }) => doc === undefined && later(user?.name === 'Ann'),
  }),
  owned('knocked', {
    list: ({ req }) => req?.headers['x-knock'] === 'twice',
    read: ({ req }) => req?.headers['x-knock'] === 'twice',
    create: 'public',
  }),
] as const;

const { call, person, app } = await startTestApp({ resources });
const [ann, bob, admin, editor] = [
  await person('Ann'),
  await person('Bob'),
  await person('Root', ['user', 'admin']),
  await person('Edd', ['user', 'editor']),
];
const viewers = { nobody: call, ann: ann.call, bob: bob.call, admin: admin.call, editor: editor.call };
type Viewer = keyof typeof viewers;
const service = app.service as (name: string) => ReturnType<typeof app.service>;
const UNKNOWN = '0123456789abcdef01234567';

/** Creates a record that Ann owns. */
async function annRecord(resource: string, values: object = {}): Promise<string> {
  const record = await service(resource).create({
    title: 'x',
    ...(resource === 'unowned' ? {} : { author: ann.id }),
    ...values,
  } as never);
  return record.id;
}

/** The statuses of `list read create update delete` for this viewer and records that Ann owns. */
async function statuses(resource: string, viewer: Viewer, values: object = {}): Promise<number[]> {
  const as = viewers[viewer];
  const path = `/api/${resource}s`;
  const [one, two] = [await annRecord(resource, values), await annRecord(resource, values)];
  const responses = [
    await as('GET', path),
    await as('GET', `${path}/${one}`),
    await as('POST', path, { title: 'new' }),
    await as('PATCH', `${path}/${one}`, { title: 'new' }),
    await as('DELETE', `${path}/${two}`),
  ];
  return responses.map((response) => response.status);
}

test.each<[string, Viewer, number[]]>([
  // Defaults of a resource with an owner: signed-in users read, the owner and admins change.
  ['plain', 'nobody', [401, 401, 401, 401, 401]],
  ['plain', 'ann', [200, 200, 201, 200, 204]],
  ['plain', 'bob', [200, 200, 201, 403, 403]],
  ['plain', 'admin', [200, 200, 201, 200, 204]],
  // Defaults without an owner: admins change.
  ['unowned', 'nobody', [401, 401, 401, 401, 401]],
  ['unowned', 'ann', [200, 200, 403, 403, 403]],
  ['unowned', 'admin', [200, 200, 201, 200, 204]],
  // A record that the viewer may not read does not exist for the viewer.
  ['private', 'nobody', [401, 401, 401, 401, 401]],
  ['private', 'ann', [200, 200, 201, 200, 204]],
  ['private', 'bob', [200, 404, 201, 404, 404]],
  ['private', 'admin', [200, 200, 201, 403, 403]],
  ['readable', 'nobody', [200, 200, 401, 401, 401]],
  ['readable', 'ann', [200, 200, 403, 200, 403]],
  ['readable', 'bob', [200, 200, 403, 403, 403]],
  ['readable', 'editor', [200, 200, 201, 200, 403]],
  ['readable', 'admin', [200, 200, 403, 403, 403]],
  // The viewer cannot delete it either, whatever the delete policy says.
  ['managed', 'nobody', [401, 401, 401, 401, 401]],
  ['managed', 'ann', [200, 200, 201, 403, 403]],
  ['managed', 'bob', [200, 404, 201, 404, 404]],
  ['managed', 'admin', [200, 404, 201, 404, 404]],
  ['closed', 'nobody', [401, 401, 401, 401, 401]],
  ['closed', 'ann', [403, 404, 403, 404, 404]],
  ['closed', 'admin', [403, 404, 403, 404, 404]],
])('on %s records of Ann, %s: list, read, create, update, delete respond %j', async (resource, viewer, expected) => {
  expect(await statuses(resource, viewer)).toEqual(expected);
});

test.each<[boolean, Viewer, number[]]>([
  [true, 'nobody', [401, 200, 401, 401, 204]],
  [true, 'ann', [200, 200, 201, 200, 204]],
  [true, 'bob', [403, 200, 403, 200, 204]],
  [false, 'nobody', [401, 401, 401, 401, 401]],
  [false, 'ann', [200, 200, 201, 403, 403]],
  [false, 'bob', [403, 404, 403, 404, 404]],
  [false, 'admin', [403, 404, 403, 404, 404]],
])('policy functions decide by the stored record (open: %j), %s: %j', async (open, viewer, expected) => {
  expect(await statuses('asked', viewer, { open })).toEqual(expected);
});

test.each(['zzz', UNKNOWN, UNKNOWN.toUpperCase(), '%00', '../users', '0'.repeat(5000)])(
  'the id %s responds like an id that does not exist: 404, or 401 where a user is required',
  async (id) => {
    for (const resource of ['plain', 'private', 'asked', 'closed']) {
      for (const [method, body] of [['GET'], ['PATCH', { title: 'x' }], ['DELETE']] as const) {
        const path = `/api/${resource}s/${id.replace('../', '..%2f')}`;
        expect((await ann.call(method, path, body)).status).toBe(404);
        expect((await call(method, path, body)).status).toBe(401);
      }
    }
  },
);

test('a signed-out caller cannot distinguish a record that a policy function refuses from a missing one', async () => {
  const hidden = await annRecord('asked', { open: false });
  const responses = await Promise.all([hidden, UNKNOWN].map((id) => call('GET', `/api/askeds/${id}`)));
  expect(responses.map(({ status, body }) => [status, body.error.code, body.error.message])).toEqual([
    [401, 'UNAUTHORIZED', 'You must be signed in'],
    [401, 'UNAUTHORIZED', 'You must be signed in'],
  ]);
});

test("the owner policy on list filters instead of rejecting, and the count includes only the caller's records", async () => {
  await annRecord('private', { title: 'of Ann' });
  const seen = await bob.call('GET', '/api/privates');
  expect(seen.body.data.every((record: { author: string }) => record.author === bob.id)).toBe(true);
  expect(seen.body.meta.total).toBe(seen.body.data.length);
  const all = await admin.call('GET', '/api/privates');
  expect(all.body.meta.total).toBeGreaterThan(seen.body.meta.total);
});

test('authorization precedes validation and uniqueness: the response to a forbidden write reveals nothing about its body', async () => {
  const id = await annRecord('plain');
  expect((await bob.call('PATCH', `/api/plains/${id}`, { title: 5, nope: 1 })).status).toBe(403);
  expect((await bob.call('PATCH', `/api/plains/${UNKNOWN}`, { nope: 1 })).status).toBe(404);
  const hidden = await annRecord('private');
  expect((await bob.call('PATCH', `/api/privates/${hidden}`, { nope: 1 })).status).toBe(404);
  expect((await bob.call('POST', '/api/readables', { nope: 1 })).status).toBe(403);
  expect((await bob.call('POST', '/api/users', { email: ann.email })).status).toBe(403);
  expect((await call('POST', '/api/users', { email: ann.email })).status).toBe(401);
  expect((await bob.call('GET', '/api/users?nope=1')).status).toBe(403);
});

test('ownership cannot be transferred: the owner field is read-only for every user, admins included', async () => {
  const id = await annRecord('plain');
  for (const as of [ann.call, admin.call]) {
    const response = await as('PATCH', `/api/plains/${id}`, { author: bob.id });
    expect([response.status, response.body.error.details]).toEqual([422, { author: 'Is read-only' }]);
  }
  expect((await ann.call('POST', '/api/plains', { author: bob.id })).body.error.details).toEqual({
    author: 'Is read-only',
  });
  expect((await bob.call('POST', '/api/plains', { title: 'mine' })).body.data.author).toBe(bob.id);
});

test('code acts as the given user, as a visitor if the user is undefined, and as the system if no user is given', async () => {
  const id = await annRecord('private');
  await expect(service('private').read(id, { user: { id: bob.id } })).rejects.toMatchObject({ status: 404 });
  await expect(service('private').read(id, { user: undefined })).rejects.toMatchObject({ status: 401 });
  await expect(service('private').list({}, { user: undefined })).rejects.toMatchObject({ status: 401 });
  expect((await service('private').read(id, { user: { id: ann.id } })).id).toBe(id);
  expect((await service('private').read(id)).id).toBe(id);
});

test('a revoked role loses its permissions from the next request on', async () => {
  const fallen = await person('Fallen', ['user', 'admin']);
  expect((await fallen.call('GET', '/api/users')).status).toBe(200);
  await service('user').update(fallen.id, { roles: ['user'] } as never);
  expect((await fallen.call('GET', '/api/users')).status).toBe(403);
});

let release: () => void = () => undefined;
const gate = new Promise<void>((resolve) => {
  release = resolve;
});
let policyCalls = 0;
const draft = defineResource('draft', {
  fields: { title: f.string(), locked: f.boolean().default(false) },
  policies: {
    read: 'public',
    update: async ({ doc }) => {
      const verdict = !doc.locked;
      if (++policyCalls === 1) await gate;
      return verdict;
    },
  },
});
const other = await startTestApp({ resources: [defineUser(), draft] });

test('a policy function that allowed a write is evaluated again if the record changed meanwhile', async () => {
  const { id } = await other.app.service('draft').create({ title: 'x' });
  const writing = other.call('PATCH', `/api/drafts/${id}`, { title: 'too late' });
  await expect.poll(() => policyCalls).toBe(1);
  await other.app.service('draft').update(id, { locked: true });
  release();
  expect((await writing).status).toBe(401);
  expect(policyCalls).toBe(2);
  expect((await other.app.service('draft').read(id)).title).toBe('x');
});

test('a record that a viewer may delete but not read is not deleted, and responds like a missing one', async () => {
  for (const [resource, as, status] of [
    ['managed', admin.call, 404],
    ['dropped', bob.call, 404],
    ['dropped', call, 401],
  ] as const) {
    const id = await annRecord(resource, { open: true });
    for (const method of ['PATCH', 'DELETE']) {
      const body = method === 'PATCH' ? { title: 'y' } : undefined;
      const [there, not] = [
        await as(method, `/api/${resource}s/${id}`, body),
        await as(method, `/api/${resource}s/${UNKNOWN}`, body),
      ];
      expect([there.status, there.body.error.code]).toEqual([status, not.body.error.code]);
      expect(not.status).toBe(status);
    }
    expect(await service(resource).read(id)).toMatchObject({ title: 'x' });
  }
});

test('a policy function receives the request as req, or undefined if code acts as a user', async () => {
  const { id } = (await ann.call('POST', '/api/knockeds', { title: 'in there' })).body.data;
  for (const [path, refused] of [
    [`/api/knockeds/${id}`, 404],
    ['/api/knockeds', 403],
  ] as const) {
    expect((await ann.call('GET', path, undefined, { 'x-knock': 'twice' })).status).toBe(200);
    expect((await ann.call('GET', path)).status).toBe(refused);
  }
  const user = { ...ann, roles: ['user'], status: 'active' } as never;
  await expect(app.service('knocked').read(id, { user })).rejects.toMatchObject({ status: 404 });
});
