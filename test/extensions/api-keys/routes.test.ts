import { expect, test } from 'vitest';
import { createClient } from '../../support/app.ts';
import { startKeysApp } from './app.ts';

const { app, url, call, person, key, query, seen } = await startKeysApp();
const ann = await person('Ann');
const bob = await person('Bob');
const root = await person('Root', ['admin']);
const create = (who: { call: typeof call }, body: unknown) => who.call('POST', '/api/auth/api-keys', body);
const NOBODY = 'f'.repeat(24);

test('a creation responds 201 with the uncached key, read scope and 90 days of lifetime; the database has only its hash', async () => {
  const { status, headers, body } = await create(ann, { name: ' nightly export ' });
  expect([status, headers.get('cache-control')]).toEqual([201, 'no-store']);
  const { key: value, note, ...listedKey } = body.data;
  expect(value).toMatch(/^svc_ak_[0-9A-Za-z]{38}$/);
  expect(note).toMatch(/copy/i);
  expect(listedKey).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{24}$/),
    name: 'nightly export',
    prefix: value.slice(0, 13),
    scopes: ['read'],
    status: 'active',
    createdAt: expect.stringMatching(/Z$/),
    lastUsedAt: null,
    lastUsedIp: null,
    expiresAt: expect.stringMatching(/Z$/),
  });
  expect(Date.parse(listedKey.expiresAt) - Date.parse(listedKey.createdAt)).toBe(90 * 86_400_000);
  expect((await ann.call('GET', '/api/auth/api-keys')).body).toEqual({ data: [listedKey] });
  expect(seen.api_key_created).toEqual([
    {
      userId: ann.id,
      keyId: listedKey.id,
      prefix: listedKey.prefix,
      scopes: ['read'],
      expiresAt: listedKey.expiresAt,
      ip: '127.0.0.1',
    },
  ]);
  const [row] = await query('select * from api_keys where id = $1', [listedKey.id]);
  expect(row.key_hash).toMatch(/^[0-9a-f]{64}$/);
  expect(JSON.stringify([row, seen])).not.toContain(value.slice(13));
});

test.each<[string, unknown, Record<string, unknown>]>([
  ['nothing', {}, { name: 'Is required' }],
  ['an empty name', { name: '  ' }, { name: 'Is required' }],
  ['a name of another type', { name: 7 }, { name: 'Must be a string' }],
  ['a long name', { name: 'x'.repeat(101) }, { name: 'Must be at most 100 characters' }],
  ['a NUL in the name', { name: 'a\0b' }, { name: 'Must not contain invalid characters' }],
  ['a lone surrogate in the name', { name: 'a\ud800' }, { name: 'Must not contain invalid characters' }],
  [
    'an unknown scope',
    { name: 'x', scopes: ['notes:eat'] },
    {
      scopes: expect.stringMatching(/^Unknown scopes: "notes:eat"\. Valid scopes: \*, read, .*notes:read, notes:write/),
    },
  ],
  [
    'a scope in the wrong case',
    { name: 'x', scopes: ['Notes:read'] },
    { scopes: expect.stringContaining('"Notes:read"') },
  ],
  ['a scope with a space', { name: 'x', scopes: ['read '] }, { scopes: expect.stringContaining('"read "') }],
  [
    'a property name of every object as scope',
    { name: 'x', scopes: ['constructor'] },
    { scopes: expect.stringContaining('Unknown') },
  ],
  [
    'a repeated scope',
    { name: 'x', scopes: ['read', '*', 'read'] },
    { scopes: 'Must not contain duplicate scopes: "read"' },
  ],
  ['an empty list of scopes', { name: 'x', scopes: [] }, { scopes: 'Must be at least 1 item' }],
  ['a text as scopes', { name: 'x', scopes: 'read' }, { scopes: 'Must be an array of scopes' }],
  ['null as scopes', { name: 'x', scopes: null }, { scopes: 'Must be an array of scopes' }],
  ['a scope that is not a string', { name: 'x', scopes: [1] }, { 'scopes.0': 'Must be a string' }],
  ...[0, 366, -1, 1.5, '30', null, Number.MAX_SAFE_INTEGER].map(
    (expiresInDays) =>
      [
        `expiresInDays ${expiresInDays}`,
        { name: 'x', expiresInDays },
        { expiresInDays: 'Must be a whole number from 1 to 365' },
      ] as [string, unknown, Record<string, unknown>],
  ),
  ['another user as owner', { name: 'x', userId: NOBODY }, { userId: 'Unknown field' }],
  ['a value for the key itself', { name: 'x', key: 'svc_ak_1' }, { key: 'Unknown field' }],
])('a creation with %s responds 422', async (_what, body, details) => {
  const response = await create(bob, body);
  expect([response.status, response.body.error.code, response.body.error.details]).toEqual([
    422,
    'VALIDATION_ERROR',
    details,
  ]);
});

test('an error message quotes at most the beginning of the input', async () => {
  const scopes = Array.from({ length: 5000 }, (_, i) => `${i}${'x'.repeat(150)}`);
  const { body } = await create(bob, { name: 'x', scopes });
  expect(body.error.details.scopes.length).toBeLessThan(2500);
});

test('no key can create, list or revoke keys, whatever its scopes; without a session the response is 401', async () => {
  const { id, key: value } = await key(root, { scopes: ['*'] });
  const script = createClient(url, value);
  for (const [method, path, body] of [
    ['POST', '', { name: 'x' }],
    ['GET', ''],
    ['HEAD', ''],
    ['GET', '/scopes'],
    ['DELETE', `/${id}`],
  ] as const) {
    expect((await script(method, `/api/auth/api-keys${path}`, body)).status).toBe(403);
    expect((await call(method, `/api/auth/api-keys${path}`, body)).status).toBe(401);
  }
  expect((await script('GET', '/api/auth/api-keys')).body.error).toMatchObject({
    code: 'FORBIDDEN',
    message: 'An API key cannot be used here',
  });
  expect((await root.call('GET', '/api/auth/api-keys')).body.data).toHaveLength(1);
});

test('the list contains only the caller’s active and expired keys, newest first', async () => {
  const eve = await person('Eve');
  const [first, second, third] = [await key(eve), await key(eve, { expiresInDays: 365 }), await key(eve)];
  await query(`update api_keys set expires_at = now() - interval '1 second' where id = $1`, [first.id]);
  await eve.call('DELETE', `/api/auth/api-keys/${third.id}`);
  const { data } = (await eve.call('GET', '/api/auth/api-keys')).body;
  expect(data.map((one: { id: string; status: string }) => [one.id, one.status])).toEqual([
    [second.id, 'active'],
    [first.id, 'expired'],
  ]);
  expect(JSON.stringify(data)).not.toContain(second.key.slice(13));
});

test('DELETE revokes the caller’s key at once and emits an event; repeated, foreign, malformed and unknown ids get 404', async () => {
  const { id, prefix, call: script } = await key(ann, { scopes: ['*'] });
  expect((await bob.call('DELETE', `/api/auth/api-keys/${id}`)).status).toBe(404);
  expect((await root.call('DELETE', `/api/auth/api-keys/${id}`)).status).toBe(404);
  expect((await script('GET', '/api/notes')).status).toBe(200);
  expect((await ann.call('DELETE', `/api/auth/api-keys/${id}`)).status).toBe(204);
  expect((await script('GET', '/api/notes')).status).toBe(401);
  expect(seen.api_key_revoked!.at(-1)).toEqual({ userId: ann.id, keyId: id, prefix, by: ann.id, reason: 'user' });
  const count = seen.api_key_revoked!.length;
  for (const other of [id, NOBODY, id.toUpperCase(), 'nonsense', '%00']) {
    expect((await ann.call('DELETE', `/api/auth/api-keys/${other}`)).status).toBe(404);
  }
  expect(seen.api_key_revoked).toHaveLength(count);
});

test('ten concurrent revocations of one key emit one event', async () => {
  const { id } = await key(ann);
  const count = seen.api_key_revoked!.length;
  const responses = await Promise.all(Array.from({ length: 10 }, () => ann.call('DELETE', `/api/auth/api-keys/${id}`)));
  expect(responses.map(({ status }) => status).sort()).toEqual([204, ...Array(9).fill(404)]);
  expect(seen.api_key_revoked).toHaveLength(count + 1);
});

test('app.apiKeys.revoke revokes a key', async () => {
  const { apiKeys } = app as unknown as { apiKeys: { revoke(id: string): Promise<boolean> } };
  const { id, prefix, call: script } = await key(ann, { scopes: ['*'] });
  expect([await apiKeys.revoke(id), await apiKeys.revoke(id), await apiKeys.revoke(NOBODY)]).toEqual([
    true,
    false,
    false,
  ]);
  expect((await script('GET', '/api/notes')).status).toBe(401);
  expect(seen.api_key_revoked!.at(-1)).toEqual({ userId: ann.id, keyId: id, prefix, by: null, reason: 'script' });
});

test('the list of scopes contains every scope of the app with a description', async () => {
  const { body } = await ann.call('GET', '/api/auth/api-keys/scopes');
  const byName = Object.fromEntries(
    body.data.map((one: { scope: string; description: string }) => [one.scope, one.description]),
  );
  expect(Object.keys(byName)).toEqual(
    expect.arrayContaining([
      '*',
      'read',
      'notes:read',
      'notes:write',
      'notes:*',
      'notes:pin',
      'export',
      'users:read',
      'things:change',
      'probe:poke',
      'probe:read',
      'probe:write',
      'auth:read',
      'admin:read',
      'admin:write',
    ]),
  );
  expect(byName['notes:pin']).toBe('Pin a note');
  expect(byName['probe:poke']).toBe('POST /api/probe/:what/poke');
  expect(Object.keys(byName)).not.toContain('auth:write');
  expect(Object.keys(byName)).not.toContain('auth:*');
  for (const scope of Object.keys(byName)) await key(await person('Sam'), { scopes: [scope] });
});

test('only admins can list all keys with their owners, filtered by status and owner', async () => {
  const dan = await person('Dan');
  const [active, expired, revoked] = [await key(dan), await key(dan), await key(dan)];
  await query(`update api_keys set expires_at = now() - interval '1 day' where id = $1`, [expired.id]);
  expect((await root.call('DELETE', `/api/admin/api-keys/${revoked.id}`)).status).toBe(204);
  expect(seen.api_key_revoked!.at(-1)).toEqual({
    userId: dan.id,
    keyId: revoked.id,
    prefix: revoked.prefix,
    by: root.id,
    reason: 'admin',
  });
  const ids = async (end: string) =>
    (await root.call('GET', `/api/admin/api-keys?user=${dan.id}${end}`)).body.data.map((one: { id: string }) => one.id);
  expect(await ids('')).toEqual([revoked.id, expired.id, active.id]);
  expect(await ids('&status=active')).toEqual([active.id]);
  expect(await ids('&status=expired')).toEqual([expired.id]);
  expect(await ids('&status=revoked')).toEqual([revoked.id]);
  expect(await ids('&limit=2')).toEqual([revoked.id, expired.id]);
  const { data } = (await root.call('GET', '/api/admin/api-keys?limit=200')).body;
  expect(new Set(data.map((one: { owner: { id: string } }) => one.owner.id)).size).toBeGreaterThan(2);
  const listedKey = data.find((one: { id: string }) => one.id === active.id);
  expect(listedKey.owner).toEqual({ id: dan.id, name: 'Dan', email: dan.email });
  expect(JSON.stringify(data)).not.toContain(active.key.slice(13));
  for (const [who, status] of [
    [dan, 403],
    [{ call }, 401],
  ] as const) {
    expect((await who.call('GET', '/api/admin/api-keys')).status).toBe(status);
    expect((await who.call('DELETE', `/api/admin/api-keys/${active.id}`)).status).toBe(status);
  }
  const again = seen.api_key_revoked!.length;
  expect((await root.call('DELETE', `/api/admin/api-keys/${revoked.id}`)).status).toBe(204);
  expect(seen.api_key_revoked).toHaveLength(again);
  for (const id of [NOBODY, 'nonsense'])
    expect((await root.call('DELETE', `/api/admin/api-keys/${id}`)).status).toBe(404);
});

test('keys of a deleted account stay in the admin list, without name and e-mail', async () => {
  const gus = await person('Gus');
  const { id } = await key(gus);
  await app.service('user').delete(gus.id);
  const [listedKey] = (await root.call('GET', `/api/admin/api-keys?user=${gus.id}`)).body.data;
  expect([listedKey.id, listedKey.owner]).toEqual([id, { id: gus.id, name: null, email: null }]);
});

test.each([
  'status=gone',
  'status=',
  'user=me',
  'user=',
  'limit=0',
  'limit=201',
  'limit=-1',
  'limit=1.5',
  'limit=1e2',
  'limit=',
  'page=1',
  'status=active&status=revoked',
  'limit=1&limit=2',
])('the admin list responds 400 to ?%s', async (end) => {
  const { status, body } = await root.call('GET', `/api/admin/api-keys?${end}`);
  expect([status, body.error.code]).toEqual([400, 'BAD_REQUEST']);
});

test('an admin’s key may list and revoke keys within its scopes, until the admin loses the role', async () => {
  const ada = await person('Ada', ['admin']);
  const { call: script } = await key(ada, { scopes: ['admin:read'] });
  const victim = await key(bob);
  expect((await script('GET', '/api/admin/api-keys')).status).toBe(200);
  expect((await script('DELETE', `/api/admin/api-keys/${victim.id}`)).status).toBe(403);
  await app.service('user').update(ada.id, { roles: ['user'] } as never);
  expect((await script('GET', '/api/admin/api-keys')).status).toBe(403);
});

test('the OpenAPI document contains the scopes of a new key, their default and their maximum number', async () => {
  const { paths } = (await call('GET', '/api/openapi.json')).body;
  const { schema } = paths['/api/auth/api-keys'].post.requestBody.content['application/json'];
  expect(schema.properties.scopes).toMatchObject({ type: 'array', default: ['read'], minItems: 1, maxItems: 1000 });
  expect(schema.properties.scopes.items.enum).toContain('read');
});
