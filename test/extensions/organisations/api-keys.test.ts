import { beforeAll, expect, test, vi } from 'vitest';
import { createAllExtensions } from '../../../scripts/framework-app.ts';
import type { Services } from '../../../src/declare/service.ts';
import type { ExtensionHost } from '../../../src/extension/index.ts';
import { defineExtension, defineResource, defineUser, f, type OrganisationsApi, tenant } from '../../../src/index.ts';
import { createClient, type Person, startTestApp } from '../../support/app.ts';
import { listen, ready } from '../realtime/listen.ts';

const ticket = defineResource('ticket', {
  fields: {
    organisation: tenant(),
    title: f.string().required().filterable(),
    state: f.string().aggregatable().filterable(),
    scan: f.file({ types: ['image/png'] }),
    author: f.ref('user').owner(),
  },
  batch: true,
  softDelete: true,
  routes: (route) => [
    route.post('/:id/close', ({ doc, service }) => service('ticket').update(doc.id, { state: 'closed' })),
    route.get('/mine', ({ user, service }) => service('ticket').list({ author: user!.id })),
    route.get('/states', { organisationKeys: true }, () => ['open']),
  ],
});
const memo = defineResource('memo', {
  fields: { text: f.string().required(), photo: f.file({ types: ['image/png'] }), author: f.ref('user').owner() },
  policies: { list: 'owner', read: 'owner' },
  batch: true,
  routes: (route) => [route.get('/:id/lines', () => [])],
});
let host: ExtensionHost;
const probe = defineExtension({
  name: 'probe',
  setup(given) {
    host = given;
    return {
      routes: [
        { method: 'GET', path: '/probe', summary: 'A route of an extension', errors: [], handler: () => 'seen' },
      ],
    };
  },
});

const { app, url, person } = await startTestApp(
  {
    resources: [defineUser({ relations: { memos: f.reverse('memo', 'author') } }), ticket, memo],
    extensions: [...createAllExtensions(), probe],
    settings: { rateLimit: { enabled: false }, relay: { sweepMs: 50, pollMs: 50 } },
  },
  { roles: 'all' },
);
const service = app.service as unknown as Services;
const { organisations: api } = app as typeof app & { organisations: OrganisationsApi };
let owner: Person;
let [acme, bolt] = [
  { id: '', slug: 'acme' },
  { id: '', slug: 'bolt' },
];
let key: { token: string; call: Person['call'] };
/** A key that belongs to the organisation itself. */
let ownKey: { call: Person['call'] };

async function createKey(caller: Person, organisation?: string): Promise<{ token: string; call: Person['call'] }> {
  const headers: Record<string, string> = organisation === undefined ? {} : { 'X-Organisation': organisation };
  const { status, body } = await caller.call('POST', '/api/auth/api-keys', { name: 'k', scopes: ['*'] }, headers);
  expect([status, body.error]).toEqual([201, undefined]);
  return { token: body.data.key, call: createClient(url, body.data.key) };
}

beforeAll(async () => {
  owner = await person('owner', ['user', 'admin']);
  [acme, bolt] = [
    { ...acme, id: (await api.create({ name: 'Acme', slug: 'acme' }, owner.id)).id },
    { ...bolt, id: (await api.create({ name: 'Bolt', slug: 'bolt' }, owner.id)).id },
  ];
  key = await createKey(owner, acme.id);
  const input = { name: 'k', scopes: ['*'], as: 'org:owner' };
  const made = await owner.call('POST', `/api/organisations/${acme.id}/api-keys`, input);
  ownKey = { call: createClient(url, made.body.data.key) };
});

/** The routes that the API key of an organisation may use. All others refuse it. */
const OPEN = [
  'GET /auth/me',
  'GET /organisations',
  'GET /organisations/:id',
  'PATCH /organisations/:id',
  'PUT /organisations/:id',
  'GET /organisations/:id/members',
  'PATCH /organisations/:id/members/:membershipId',
  'DELETE /organisations/:id/members/:membershipId',
  'POST /organisations/:id/leave',
  'POST /organisations/batch',
  'GET /organisations/:id/invitations',
  'GET /memberships',
  'GET /memberships/:id',
  'GET /tickets',
  'GET /tickets/:id',
  'POST /tickets',
  'PATCH /tickets/:id',
  'PUT /tickets/:id',
  'DELETE /tickets/:id',
  'POST /tickets/:id/restore',
  'POST /tickets/batch',
  'GET /tickets/aggregate',
  'POST /tickets/:id/close',
  'GET /tickets/states',
  'GET /realtime',
  'POST /files/uploads',
  'POST /files/uploads/:id/complete',
  'POST /files/resumable',
  'GET /files/resumable/:id',
  'PATCH /files/resumable/:id',
  'DELETE /files/resumable/:id',
  'GET /files/:id/:name',
  'GET /webhooks',
  'POST /webhooks',
  'GET /webhooks/event',
  'GET /webhooks/events',
  'GET /webhooks/:id',
  'PATCH /webhooks/:id',
  'DELETE /webhooks/:id',
  'GET /webhooks/:id/deliveries',
  'POST /webhooks/:id/ack',
  'POST /webhooks/:id/deliveries/:deliveryId/retry',
  'GET /webhooks/:id/explain',
  'POST /webhooks/:id/filter/test',
  'GET /webhooks/:id/poll',
  'POST /webhooks/:id/recover',
  'GET /webhooks/:id/recoveries/:recoveryId',
  'POST /webhooks/:id/rotate-secret',
  'GET /webhooks/:id/statistics',
  'POST /webhooks/:id/test',
];

test.each([
  ['bound to', () => key, OPEN],
  ['owned by', () => ownKey, OPEN.filter((route) => route !== 'GET /auth/me')],
])(
  'every route refuses an API key that is %s an organisation, except for those of the organisation and its records',
  async (_, getKey, open) => {
    const opened: string[] = [];
    const routes = host.routes();
    expect(routes.length).toBeGreaterThan(100);
    for (const { method, path } of routes) {
      const target = `/api${path.replaceAll(/:\w+/g, 'f'.repeat(24))}`;
      const sent = method === 'GET' || method === 'DELETE' ? undefined : {};
      const { status, body } = await getKey().call(method, target, sent);
      expect(status, `${method} ${path}`).toBeLessThan(500);
      const isRefused = status === 403 && /API key/.test(body?.error?.message);
      if (!isRefused) opened.push(`${method} ${path}`);
    }
    expect(opened.sort()).toEqual([...open].sort());
  },
  120_000,
);

test('the API key of an organisation sees related records of other resources as a signed-out caller does', async () => {
  await service('memo').create({ text: 'private', author: owner.id });
  const made = await key.call('POST', '/api/tickets', { title: 'related' });
  const path = `/api/tickets/${made.body.data.id}?include=author.memos`;
  const within = await owner.call('GET', path, undefined, { 'X-Organisation': acme.id });
  expect(within.body.data.author).toMatchObject({ email: expect.any(String), memos: { data: [{ text: 'private' }] } });
  const { status, body } = await key.call('GET', path);
  expect(status).toBe(200);
  expect(JSON.stringify(body)).not.toMatch(/private|@/);
});

test('the API key of an organisation creates neither organisations nor records of its owner, and reads none', async () => {
  const { id } = await service('memo').create({ text: 'private', author: owner.id });
  const refused: [string, string, unknown?][] = [
    ['POST', '/api/organisations', { name: 'x' }],
    ['POST', '/api/memos', { text: 'x' }],
    ['PATCH', `/api/memos/${id}`, { text: 'x' }],
    ['GET', '/api/memos'],
    ['GET', `/api/memos/${id}/lines`],
    ['POST', '/api/memos/batch', { operations: [{ op: 'delete', id }] }],
    ['POST', '/api/files/uploads?field=memo.photo', {}],
    ['GET', '/api/probe'],
  ];
  for (const [method, path, body] of refused)
    expect((await key.call(method, path, body)).status, `${method} ${path}`).toBe(403);
  expect(await service('memo').read(id)).toMatchObject({ text: 'private' });
  const unbound = await createKey(owner);
  expect((await unbound.call('POST', '/api/memos', { text: 'x' })).status).toBe(201);
  expect((await unbound.call('GET', '/api/probe')).body).toEqual({ data: 'seen' });
});

test('the API key of an organisation works with its records, one and many, and uploads their files', async () => {
  const operations = [
    { op: 'create', data: { title: 'one' } },
    { op: 'create', data: { title: 'two' } },
  ];
  const { status, body } = await key.call('POST', '/api/tickets/batch', { operations });
  expect([status, body.data?.map((one: { status: number }) => one.status)]).toEqual([200, [201, 201]]);
  expect((await key.call('GET', '/api/tickets?title=one')).body.data).toMatchObject([{ organisation: acme.id }]);
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const uploaded = await fetch(`${url}/api/files/uploads?field=ticket.scan`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key.token}`,
      'content-type': 'image/png',
      'content-disposition': 'attachment; filename="a.png"',
    },
    body: Buffer.from(png, 'base64'),
  });
  const scan = ((await uploaded.json()) as { data: { id: string } }).data.id;
  const created = await key.call('POST', '/api/tickets', { title: 'scanned', scan });
  expect([created.status, created.body.data.organisation]).toEqual([201, acme.id]);
  const file = await fetch(new URL(created.body.data.scan.url, url), {
    headers: { authorization: `Bearer ${key.token}` },
  });
  expect(file.status).toBe(200);
});

test('the API key of an organisation opens streams, which carry only records of that organisation', async () => {
  const stream = await ready(url, 'subscribe=ticket', { token: key.token });
  const named = await ready(url, 'subscribe=ticket', { token: key.token, headers: { 'X-Organisation': acme.slug } });
  const all = await ready(url, 'subscribe=ticket', { token: (await createKey(owner)).token });
  const create = (organisation: string) => service('ticket').create({ title: 't', organisation, author: owner.id });
  const [there, here] = [await create(bolt.id), await create(acme.id)];
  // A change of the user builds the subscriptions again.
  await service('user').update(owner.id, { name: 'Renamed' });
  const [laterThere, laterHere] = [await create(bolt.id), await create(acme.id)];
  const known = [there, here, laterThere, laterHere].map(({ id }) => id);
  const idsIn = ({ received }: typeof stream) => received.flatMap(({ data }) => known.filter((id) => data?.id === id));
  await vi.waitFor(() => expect(idsIn(all)).toEqual(known), { timeout: 60_000 });
  for (const one of [stream, named])
    await vi.waitFor(() => expect(idsIn(one)).toEqual([here.id, laterHere.id]), { timeout: 60_000 });
});

test('the API key of an organisation cannot follow other records or other organisations', async () => {
  const memos = await listen(url, 'subscribe=memo', { token: key.token });
  expect([memos.status, memos.body.error.details]).toEqual([
    403,
    { 'subscribe.0': 'The API key of an organisation can be used only for records of that organisation' },
  ]);
  const headers = { 'X-Organisation': bolt.slug };
  expect((await listen(url, 'subscribe=ticket', { token: key.token, headers })).status).toBe(404);
  const { id } = await service('ticket').create({ title: 't', organisation: bolt.id });
  expect((await listen(url, `subscribe=ticket/${id}`, { token: key.token })).status).toBe(404);
});

test('a stream of the API key of an organisation ends when the key is revoked', async () => {
  const revoked = await createKey(owner, acme.id);
  const stream = await ready(url, 'subscribe=ticket', { token: revoked.token });
  const keys = (await owner.call('GET', '/api/auth/api-keys')).body.data as { id: string; createdAt: string }[];
  await owner.call('DELETE', `/api/auth/api-keys/${keys[0]!.id}`);
  await stream.ended;
  expect((await revoked.call('GET', '/api/tickets')).status).toBe(401);
});

test('a key is bound to the organisation that the request names by id or slug, and keeps it when the slug changes hands', async () => {
  const first = await api.create({ name: 'First', slug: 'first-slug' }, owner.id);
  const bound = await createKey(owner, 'first-slug');
  const keys = (await owner.call('GET', '/api/auth/api-keys')).body.data;
  expect(keys[0].organisation).toBe(first.id);
  await service('organisation').update(first.id, { slug: 'renamed-slug' });
  await api.create({ name: 'Second', slug: 'first-slug' }, owner.id);
  expect((await bound.call('GET', '/api/organisations')).body.data).toMatchObject([{ id: first.id }]);
});

test('a key of an organisation that does not exist, or of which the caller is no member, is refused with 404', async () => {
  const stranger = await person('stranger');
  for (const name of [acme.id, acme.slug, 'f'.repeat(24), 'unknown', 'No Slug'])
    expect(
      (await stranger.call('POST', '/api/auth/api-keys', { name: 'k' }, { 'X-Organisation': name })).status,
      name,
    ).toBe(404);
});
