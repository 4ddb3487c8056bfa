import { expect, test } from 'vitest';
import {
  adminConsole,
  apiKeys,
  audit,
  defineResource,
  defineUser,
  emailVerification,
  f,
  organisations,
  softDelete,
  tenant,
  webhooks,
} from '../../../../src/index.ts';
import { createClient, startTestApp } from '../../../support/app.ts';

const user = defineUser({ roles: ['support'], fields: { team: f.ref('team', { onDelete: 'setNull' }) } });
const team = defineResource('team', {
  fields: {
    name: f.string().required().unique(),
    members: f.refs('user'),
    parent: f.ref('team', { onDelete: 'cascade' }),
  },
  policies: { list: 'public', read: ['support', () => false], create: 'verified | support', delete: 'none' },
  crud: ['list', 'read', 'create', 'delete'],
  indexes: [{ fields: ['name', '-createdAt'], unique: true }],
  hooks: { beforeCreate: (values) => values },
  routes: (route) => [
    route.post('/:id/merge', { policy: 'owner | admin', rateLimit: { limit: 3, windowMs: 60_000 } }, () => undefined),
    route.get('/secret', { hidden: true }, () => undefined),
  ],
  owner: '_id',
});
const resources = [user, team];
const API = '/console/api/reference';

const { app, call, person, url } = await startTestApp(
  {
    resources,
    extensions: [softDelete(), audit(), apiKeys(), webhooks(), emailVerification(), adminConsole()],
  },
  { roles: 'all' },
);
const production = await startTestApp(
  {
    resources,
    extensions: [
      softDelete(),
      audit(),
      apiKeys(),
      webhooks(),
      emailVerification(),
      adminConsole({ production: { policy: 'support' } }),
    ],
    settings: { rateLimit: { enabled: false }, openapi: { enabled: false } },
  },
  {
    roles: 'all',
    env: () => ({
      NODE_ENV: 'production',
      DRAIN_DELAY_MS: '0',
      APP_URL: 'https://api.example.com',
      SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
      LOG_LEVEL: 'silent',
    }),
  },
);

test('the map has the references of a resource, with what happens when their targets are deleted', async () => {
  const { body } = await call('GET', `${API}/map`);
  expect(body.data.roles).toEqual(['user', 'admin', 'support']);
  const mapped = body.data.resources.find(({ name }: { name: string }) => name === 'team');
  expect(mapped.references).toEqual([
    { field: 'members', target: 'user', many: true, required: false, onDelete: 'remove' },
    { field: 'parent', target: 'team', many: false, required: false, onDelete: 'cascade' },
  ]);
  expect(mapped).toMatchObject({
    hooks: ['beforeCreate'],
    events: ['team.created', 'team.updated', 'team.deleted'],
    indexes: [
      { fields: ['name'], unique: true },
      { fields: ['name', '-createdAt'], unique: true },
    ],
  });
});

test('the map has the rule of each route, in which functions are not presented as roles', async () => {
  const { body } = await call('GET', `${API}/map`);
  const { access, routes, reference } = body.data.resources.find(({ name }: { name: string }) => name === 'team');
  const rule = { allows: [], owner: false, roles: [], organisationRoles: [], hasFunction: false };
  expect(access).toEqual({
    list: { ...rule, text: 'public', allows: ['public'] },
    read: { ...rule, text: 'support | function', roles: ['support'], hasFunction: true },
    create: { ...rule, text: 'verified | support', allows: ['verified'], roles: ['support'] },
    delete: { ...rule, text: 'none' },
  });
  expect(reference).toEqual(access.read);
  expect(routes).toEqual([
    {
      method: 'POST',
      path: '/teams/:id/merge',
      access: { ...rule, text: 'owner | admin', owner: true, roles: ['admin'] },
    },
  ]);
});

test('roles of organisations are shown as declared, in the map, the reference and the description of resources', async () => {
  const ticket = defineResource('ticket', {
    fields: { organisation: tenant(), title: f.string().required() },
    policies: { list: 'org:member', create: 'org:admin | support', update: ['org:admin', () => false] },
    routes: (route) => [route.post('/:id/close', { policy: 'org:admin' }, () => undefined)],
  });
  const tenants = await startTestApp(
    {
      resources: [defineUser({ roles: ['support'] }), ticket],
      extensions: [organisations(), adminConsole()],
    },
    { roles: 'all' },
  );
  const read = async (path: string) => (await tenants.call('GET', path)).body;
  const byName = ({ name }: { name: string }) => name === 'ticket';
  const { access, routes } = (await read(`${API}/map`)).data.resources.find(byName);
  const rule = { allows: [], owner: false, roles: [], organisationRoles: [], hasFunction: false };
  expect(access).toMatchObject({
    list: { ...rule, text: 'org:member', organisationRoles: ['member'] },
    create: { ...rule, text: 'org:admin | support', roles: ['support'], organisationRoles: ['admin'] },
    update: { ...rule, text: 'org:admin | function', organisationRoles: ['admin'], hasFunction: true },
    delete: { ...rule, text: 'org:member', organisationRoles: ['member'] },
  });
  expect(routes[0].access).toEqual({ ...rule, text: 'org:admin', organisationRoles: ['admin'] });
  const { paths } = await read('/api/openapi.json');
  expect(paths['/api/tickets'].post['x-policy']).toBe('org:admin | support');
  const { policies } = (await read('/console/api/app')).data.resources.find(byName);
  expect(policies).toMatchObject({ list: 'org:member', create: 'org:admin | support' });
});

test('the reference gets the document of the app, with the limits of its routes', async () => {
  const { body } = await call('GET', `${API}/document`);
  const { document, limits, canStartSession } = body.data;
  expect(document).toEqual((await call('GET', '/api/openapi.json')).body);
  expect(limits).toEqual({ all: { limit: 300, windowMs: 60_000 } });
  expect(canStartSession).toBe(true);
  const { post } = document.paths['/api/teams/{id}/merge'];
  expect(post['x-rate-limit']).toEqual({ limit: 3, windowMs: 60_000 });
  expect(document.paths['/api/auth/login'].post['x-rate-limit']).toEqual({ limit: 10, windowMs: 900_000 });
  expect(document.paths['/api/teams'].get).not.toHaveProperty('x-rate-limit');
  expect(JSON.stringify(document)).not.toContain('/teams/secret');
});

/** What a browser sends with a request of the console's page. */
const FROM_PAGE = { 'sec-fetch-site': 'same-origin' };

test('in development, a real session of a user starts without a password, and ends with a logout', async () => {
  const ada = await person('Ada');
  const { status, body } = await call('POST', `${API}/session`, { user: ada.id }, FROM_PAGE);
  expect([status, body.data.user.id]).toEqual([200, ada.id]);
  const session = createClient(url, body.data.token);
  expect((await session('GET', '/api/auth/me')).body.data.id).toBe(ada.id);
  const { data } = (await ada.call('GET', '/api/auth/sessions')).body;
  expect(data.map(({ method }: { method: string }) => method)).toContain('console');
  await session('POST', '/api/auth/logout');
  expect((await session('GET', '/api/auth/me')).status).toBe(401);
});

test('no session starts for a disabled user, an unknown user, or an invalid id', async () => {
  const bob = await person('Bob');
  await app.service('user').update(bob.id, { status: 'disabled' });
  const start = async (value: unknown) => (await call('POST', `${API}/session`, { user: value }, FROM_PAGE)).status;
  expect(await start(bob.id)).toBe(403);
  expect(await start('65f0c1d2e3a4b5c6d7e8f901')).toBe(401);
  for (const value of ['nonsense', null, { $ne: 1 }, [bob.id]]) expect(await start(value)).toBe(422);
});

test('only the own page of the console can start a session', async () => {
  const ada = await person('Carla');
  const send = (headers: Record<string, string>) => call('POST', `${API}/session`, { user: ada.id }, headers);
  expect((await send({ 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  expect((await send({ origin: 'https://evil.example.com' })).status).toBe(403);
  expect((await send({ origin: 'null' })).status).toBe(403);
  expect((await send({ 'sec-fetch-site': 'none' })).status).toBe(403);
  expect((await send({})).status).toBe(403);
  expect((await send({ ...FROM_PAGE, via: '1.1 proxy' })).status).toBe(403);
  expect((await send({ origin: url })).status).toBe(200);
});

test('in production, the map and the reference require access to the console, and no route starts a session', async () => {
  const admin = await production.person('Root', ['user', 'support']);
  const other = await production.person('Eve');
  const key = await admin.call('POST', '/api/auth/api-keys', { name: 'key', scopes: ['*'] });
  const byKey = createClient(production.url, key.body.data.key);
  for (const path of [`${API}/map`, `${API}/document`]) {
    expect((await production.call('GET', path)).status).toBe(401);
    expect((await other.call('GET', path)).status).toBe(403);
    expect((await byKey('GET', path)).status).toBe(403);
    const { status, headers } = await admin.call('GET', path);
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  }
  for (const client of [production.call, other.call, admin.call])
    expect((await client('POST', `${API}/session`, { user: other.id })).status).toBe(404);
});

test('in production, the reference exists without the public document, and says that no limit applies if limits are off', async () => {
  const admin = await production.person('Second', ['user', 'support']);
  const { data } = (await admin.call('GET', `${API}/document`)).body;
  expect(data).toMatchObject({ limits: { all: null }, canStartSession: false });
  expect(data.document.paths['/api/teams'].get.operationId).toBe('listTeams');
  expect((await admin.call('GET', '/api/openapi.json')).status).toBe(404);
});
