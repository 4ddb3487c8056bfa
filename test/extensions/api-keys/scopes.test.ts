import { expect, test } from 'vitest';
import { createScopes } from '../../../src/extensions/api-keys/scopes.ts';
import { apiKeys, createApp, defineExtension, defineResource, defineUser, f } from '../../../src/index.ts';
import { createClient } from '../../support/app.ts';
import { startKeysApp } from './app.ts';

const { person, key, url } = await startKeysApp();
const root = await person('Root', ['admin']);
const note = (await root.call('POST', '/api/notes', { text: 'x' })).body.data.id as string;
const thing = (await root.call('POST', '/api/things', { text: 'x' })).body.data.id as string;
const item = `/api/notes/${note}`;

/** Every request of the app that requires a scope, with all scopes that allow it. */
const REQUESTS: [method: string, path: string, opens: string[], needed: string][] = [
  ['GET', '/api/notes', ['*', 'read', 'notes:read', 'notes:*'], 'notes:read'],
  ['HEAD', '/api/notes', ['*', 'read', 'notes:read', 'notes:*'], 'notes:read'],
  ['GET', item, ['*', 'read', 'notes:read', 'notes:*'], 'notes:read'],
  ['POST', '/api/notes', ['*', 'notes:write', 'notes:*'], 'notes:write'],
  ['PATCH', item, ['*', 'notes:write', 'notes:*'], 'notes:write'],
  ['PUT', item, ['*', 'notes:write', 'notes:*'], 'notes:write'],
  ['POST', `${item}/pin`, ['*', 'notes:pin', 'notes:*'], 'notes:pin'],
  ['GET', '/api/notes/export', ['*', 'export'], 'export'],
  ['GET', '/api/notes/whoami', ['*', 'read', 'notes:read', 'notes:*'], 'notes:read'],
  ['GET', '/api/things', ['*', 'read', 'things:read', 'things:*'], 'things:read'],
  ['PATCH', `/api/things/${thing}`, ['*', 'things:change', 'things:*'], 'things:change'],
  ['PUT', `/api/things/${thing}`, ['*', 'things:change', 'things:*'], 'things:change'],
  ['POST', '/api/things', ['*', 'things:write', 'things:*'], 'things:write'],
  ['GET', '/api/users', ['*', 'read', 'users:read', 'users:*'], 'users:read'],
  ['GET', '/api/probe/look', ['*', 'read', 'probe:read', 'probe:*'], 'probe:read'],
  ['POST', '/api/probe/run', ['*', 'probe:write', 'probe:*'], 'probe:write'],
  ['POST', '/api/probe/any/poke', ['*', 'probe:poke', 'probe:*'], 'probe:poke'],
  ['GET', '/api/admin/api-keys', ['*', 'read', 'admin:read', 'admin:*'], 'admin:read'],
  ['GET', '/api/openapi.json', ['*', 'read'], 'read'],
  ['GET', '/api/auth/me', ['*', 'read', 'auth:read'], 'auth:read'],
  ['HEAD', '/api/auth/me', ['*', 'read', 'auth:read'], 'auth:read'],
  ['PATCH', '/api/auth/me', [], ''],
  ['GET', '/api/auth/extra', [], ''],
  ['GET', '/api/auth/sessions', [], ''],
  ['POST', '/api/auth/logout', [], ''],
  ['POST', '/api/auth/logout-all', [], ''],
  ['POST', '/api/auth/login', [], ''],
  ['POST', '/api/auth/register', [], ''],
  ['POST', '/api/auth/password', [], ''],
  ['GET', '/api/auth/devices', [], ''],
  ['POST', '/api/auth/devices', [], ''],
];
const BODIES: Record<string, unknown> = { POST: { text: 'y' }, PATCH: { text: 'y' }, PUT: { text: 'y' } };

const SCOPES = [...new Set(REQUESTS.flatMap(([, , opens]) => opens)), 'users:write', 'admin:write'];

test.each(SCOPES)('a key with the scope %s may make the requests of that scope and no others', async (scope) => {
  const { call } = await key(await person(`Admin`, ['admin']), { scopes: [scope] });
  for (const [method, path, opens, needed] of REQUESTS) {
    const { status, body } = await call(method, path, BODIES[method]);
    const label = `${method} ${path}`;
    if (opens.includes(scope)) {
      // The key's owner owns no records here and is only an admin. Policies are applied after the scope.
      expect([label, [200, 201, 204, 403].includes(status)]).toEqual([label, true]);
      expect([label, body?.error?.message ?? '']).toEqual([label, expect.not.stringContaining('scope')]);
    } else {
      const message = needed === '' ? 'An API key cannot be used here' : `This needs the scope "${needed}"`;
      expect([label, status]).toEqual([label, 403]);
      if (method !== 'HEAD') expect([label, body.error]).toMatchObject([label, { code: 'FORBIDDEN', message }]);
    }
  }
});

test('a missing scope is reported before anything about records or bodies, on public routes too', async () => {
  const { call } = await key(root, { scopes: ['users:read'] });
  for (const [method, path, body] of [
    ['GET', '/api/things'],
    ['GET', `/api/notes/${'f'.repeat(24)}`],
    ['POST', '/api/notes', { nonsense: 1 }],
    ['POST', '/api/notes', '{ not json'],
  ] as const) {
    expect((await call(method, path, body)).status).toBe(403);
  }
  expect((await call('GET', '/api/nowhere')).status).toBe(404);
  expect((await call('DELETE', '/api/notes')).status).toBe(405);
});

test('a response stored for an Idempotency-Key is not returned to a key without the scope', async () => {
  const headers = { 'idempotency-key': 'once' };
  expect((await root.call('POST', '/api/notes', { text: 'kept' }, headers)).status).toBe(201);
  const { key: value } = await key(root, { scopes: ['read'] });
  expect((await createClient(url, value)('POST', '/api/notes', { text: 'kept' }, headers)).status).toBe(403);
});

const handler = () => undefined;
const configErrorsOf = (options: object) => {
  const resources = [defineUser(), defineResource('note', { fields: { text: f.string() } })];
  const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://u@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' };
  try {
    createApp({ resources, extensions: [apiKeys(options)] }, env);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

test.each<[object, string]>([
  [{ routeScopes: { 'POST /notez': 'notes:make' } }, 'apiKeys.routeScopes: "POST /notez": there is no such route'],
  [{ routeScopes: { 'post /notes': 'notes:make' } }, 'there is no such route'],
  [{ routeScopes: { 'POST /api/notes': 'notes:make' } }, 'there is no such route'],
  [{ routeScopes: { 'GET /auth/sessions': 'sessions:read' } }, 'API keys are never accepted there'],
  [{ routeScopes: { 'POST /notes': 'notes:*' } }, 'a scope must be'],
  [{ routeScopes: { 'POST /notes': '' } }, 'a scope must be'],
  [{ defaultScopes: ['reed'] }, 'apiKeys.defaultScopes: there is no scope "reed"; scopes: *, read'],
  [{ defaultScopes: [] }, 'apiKeys.defaultScopes'],
  [{ defaultExpiryDays: 90, maxLifetimeDays: 30 }, 'apiKeys.defaultExpiryDays: must not be more than maxLifetimeDays'],
  [{ maxKeysPerUser: 0 }, 'apiKeys.maxKeysPerUser'],
  [{ policy: 'everybody!' }, 'apiKeys.policy: "everybody!" is not a policy token'],
  [{ nope: 1 }, 'nope'],
])('settings %j are refused at start', (options, text) => {
  expect(configErrorsOf(options)).toContain(text);
});

test('valid settings are accepted, with any parameter names', () => {
  expect(
    configErrorsOf({
      routeScopes: { 'GET /notes/:any': '*', 'POST /notes': 'notes:make' },
      defaultScopes: ['notes:make'],
    }),
  ).toBe('');
});

test('an extension route with a malformed scope is refused at start', () => {
  const probe = defineExtension({
    name: 'probe',
    setup: () => ({ routes: [{ method: 'GET', path: '/probe', scope: 'probe:*', handler }] }),
  });
  const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://u@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' };
  expect(() => createApp({ resources: [defineUser()], extensions: [probe] }, env)).toThrow('scope: must be words of');
});

test('a path whose first segment is not a word requires a general scope', () => {
  const { scopesFor } = createScopes([], { routeScopes: {}, defaultScopes: [] });
  expect(scopesFor({ method: 'GET', path: '/:any', handler })).toEqual(['read', '*']);
  expect(scopesFor({ method: 'POST', path: '/', handler })).toEqual(['*']);
});
