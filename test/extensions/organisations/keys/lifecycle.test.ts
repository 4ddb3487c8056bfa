// API keys that belong to an organisation: who creates, sees and revokes them, and when they end.
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { type ApiKeysApi, apiKeys, defineUser } from '../../../../src/index.ts';
import { createClient, type Person, startTestApp } from '../../../support/app.ts';
import { startOrganisationKeysApp } from './app.ts';

const { app, api, url, person, key, query, events, service } = await startOrganisationKeysApp({
  keys: { maxKeysPerOrganisation: 3, maxKeysPerUser: 2 },
});
let [owner, admin, member, stranger, root] = [] as unknown as Person[];
let people = 0;

beforeAll(async () => {
  [owner, admin, member, stranger] = await Promise.all(['Olga', 'Adam', 'Mia', 'Sam'].map((name) => person(name)));
  root = await person('Root', ['admin']);
});

/** Creates an organisation with members of every role. */
async function team(): Promise<{ id: string; slug: string; path: string; adminId: string }> {
  const slug = `team-${++people}`;
  const { id } = await api.create({ name: slug.toUpperCase(), slug }, owner!.id);
  const { id: adminId } = await api.addMember(id, admin!.id, 'admin');
  await api.addMember(id, member!.id, 'member');
  return { id, slug, path: `/api/organisations/${id}/api-keys`, adminId };
}
const lastEvent = (name: string) => events.findLast((one) => one.name === name)?.payload;
const entries = async (action: string, record: string) =>
  (await root!.call('GET', `/api/admin/audit?action=${action}&record=${record}`)).body.data;

describe('creating', () => {
  test('a key belongs to the organisation, acts in the least powerful role, and is returned once', async () => {
    const { id, slug } = await team();
    const path = `/api/organisations/${slug}/api-keys`;
    const { status, headers, body } = await admin!.call('POST', path, { name: 'billing' });
    expect([status, headers.get('cache-control')]).toEqual([201, 'no-store']);
    const { key: value, note, ...listed } = body.data;
    expect([value, note]).toEqual([expect.stringMatching(/^svc_ak_/), expect.stringMatching(/copy/i)]);
    expect(listed).toMatchObject({ name: 'billing', scopes: ['read'], organisation: id, as: 'org:member' });
    expect((await owner!.call('GET', path)).body).toEqual({ data: [listed] });
    expect((await admin!.call('GET', '/api/auth/api-keys')).body).toEqual({ data: [] });
    const [row] = await query('select * from api_keys where id = $1', [listed.id]);
    expect(row).toMatchObject({ user_id: id, organisation: id, organisation_role: 'member' });
    expect(lastEvent('api_key_created')).toEqual({
      ...{ organisation: id, as: 'org:member', by: admin!.id, keyId: listed.id, prefix: listed.prefix },
      ...{ scopes: ['read'], expiresAt: listed.expiresAt, ip: '127.0.0.1' },
    });
    await vi.waitFor(async () =>
      expect(await entries('security.api_key_created', listed.id)).toMatchObject([
        { user: admin!.id, resource: 'api-key', details: { organisation: id, as: 'org:member', scopes: ['read'] } },
      ]),
    );
    expect(JSON.stringify([row, events])).not.toContain(value.slice(13));
  });

  test.each<[string, object, Record<string, unknown>]>([
    ['no name', {}, { name: 'Is required' }],
    ['an unknown scope', { name: 'x', scopes: ['eat'] }, { scopes: expect.stringMatching(/^Unknown scopes: "eat"/) }],
    ['an unknown role', { name: 'x', as: 'org:boss' }, { as: 'Must be one of: org:owner, org:admin, org:member' }],
    ['a role without org:', { name: 'x', as: 'admin' }, { as: 'Must be one of: org:owner, org:admin, org:member' }],
    ['null as role', { name: 'x', as: null }, { as: 'Must be one of: org:owner, org:admin, org:member' }],
    ['an object as role', { name: 'x', as: {} }, { as: 'Must be one of: org:owner, org:admin, org:member' }],
    [
      'a role above the own one',
      { name: 'x', as: 'org:owner' },
      { as: 'Your role does not allow you to create a key with this role: org:owner' },
    ],
    ['another user', { name: 'x', userId: 'f'.repeat(24) }, { userId: 'Unknown field' }],
  ])('%s responds 422 and creates nothing', async (_, input, details) => {
    const { path } = await team();
    const { status, body } = await admin!.call('POST', path, input);
    expect([status, body.error.details]).toEqual([422, details]);
    expect((await admin!.call('GET', path)).body.data).toEqual([]);
  });

  test('a key can have every role up to that of its creator', async () => {
    const { path } = await team();
    for (const [who, as] of [
      [admin, 'org:admin'],
      [owner, 'org:owner'],
    ] as const)
      expect((await who!.call('POST', path, { name: 'x', as })).body.data).toMatchObject({ as });
  });

  test('only managers create, list and revoke keys; strangers and other organisations get 404', async () => {
    const { id, path } = await team();
    const other = await team();
    const { id: own } = await key(owner!, id);
    const calls = [
      ['POST', '', { name: 'x' }],
      ['GET', '', undefined],
      ['DELETE', `/${own}`, undefined],
    ] as const;
    for (const [method, end, body] of calls) {
      const statusFor = async (who: Pick<Person, 'call'>, base = path) =>
        (await who.call(method, base + end, body)).status;
      expect(await statusFor(member!), method).toBe(403);
      expect(await statusFor(stranger!), method).toBe(404);
      expect(await statusFor({ call: createClient(url) }), method).toBe(401);
      expect(await statusFor(owner!, `/api/organisations/${'f'.repeat(24)}/api-keys`), method).toBe(404);
    }
    expect((await owner!.call('DELETE', `${other.path}/${own}`)).status).toBe(404);
    expect((await owner!.call('DELETE', `${path}/none`)).status).toBe(404);
    expect((await owner!.call('GET', path)).body.data).toHaveLength(1);
  });

  test('no API key can create, list or revoke keys, whatever its scopes are', async () => {
    const { id, path } = await team();
    const own = await key(owner!, id, { as: 'org:owner' });
    const personal = async (headers?: Record<string, string>) => {
      const caller = await person('Olga');
      await api.addMember(id, caller.id, 'owner');
      const made = await caller.call('POST', '/api/auth/api-keys', { name: 'k', scopes: ['*'] }, headers);
      return createClient(url, made.body.data.key);
    };
    for (const call of [own.call, await personal(), await personal({ 'x-organisation': id })]) {
      expect((await call('POST', path, { name: 'x' })).status).toBe(403);
      expect((await call('GET', path)).status).toBe(403);
      expect((await call('DELETE', `${path}/${own.id}`)).status).toBe(403);
    }
    expect((await own.call('GET', '/api/organisations')).status).toBe(200);
  });

  test('an old sign-in cannot create a key, but list and revoke keys', async () => {
    const { id, path } = await team();
    const late = await person('Late');
    await api.addMember(id, late.id, 'owner');
    await query(`update sessions set created_at = now() - interval '1 day' where user_id = $1`, [late.id]);
    const { status, body } = await late.call('POST', path, { name: 'x' });
    expect([status, body.error.code]).toEqual([403, 'RECENT_SIGN_IN_REQUIRED']);
    expect((await late.call('GET', path)).status).toBe(200);
  });

  test('the limit of an organisation holds however many keys are created at the same time, and is not that of users', async () => {
    const { id, path } = await team();
    const sent = await Promise.all(
      Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? owner! : admin!).call('POST', path, { name: `k${i}` })),
    );
    const statuses = sent.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, 201, 201, 409, 409, 409, 409, 409]);
    expect(sent.find(({ status }) => status === 409)!.body.error).toMatchObject({
      code: 'API_KEY_LIMIT',
      message: 'The organisation can have at most 3 active API keys; revoke one first',
    });
    const creator = await person('Own');
    await api.addMember(id, creator.id, 'owner');
    for (const expected of [201, 201, 409])
      expect((await creator.call('POST', '/api/auth/api-keys', { name: 'own' })).status).toBe(expected);
  });

  test('a manager who is removed at the same moment creates no key afterwards', async () => {
    const { id, path, adminId } = await team();
    const attempts = await Promise.all([
      ...Array.from({ length: 6 }, (_, i) => admin!.call('POST', path, { name: `k${i}` })),
      api.removeMember(id, adminId).then(() => undefined),
    ]);
    const created = attempts.filter((one) => one?.status === 201).length;
    expect((await owner!.call('GET', path)).body.data).toHaveLength(created);
    for (const one of attempts) if (one !== undefined) expect([201, 404, 409]).toContain(one.status);
    expect((await admin!.call('POST', path, { name: 'late' })).status).toBe(404);
  });
});

describe('ending', () => {
  test('a revoked key stops working at once; a manager revokes keys of more powerful roles, too', async () => {
    const { id, path } = await team();
    const own = await key(owner!, id, { as: 'org:owner' });
    expect((await own.call('GET', '/api/tickets')).status).toBe(200);
    expect((await admin!.call('GET', path)).body.data).toMatchObject([{ id: own.id, as: 'org:owner' }]);
    expect((await admin!.call('DELETE', `${path}/${own.id}`)).status).toBe(204);
    expect((await own.call('GET', '/api/tickets')).status).toBe(401);
    expect((await admin!.call('DELETE', `${path}/${own.id}`)).status).toBe(404);
    expect(lastEvent('api_key_revoked')).toEqual({
      ...{ organisation: id, keyId: own.id, prefix: own.token.slice(0, 13), by: admin!.id, reason: 'user' },
    });
    expect(lastEvent('invalid_api_key')).toMatchObject({ reason: 'revoked', organisation: id, keyId: own.id });
    await vi.waitFor(async () =>
      expect(await entries('security.api_key_revoked', own.id)).toMatchObject([
        { user: admin!.id, details: { organisation: id } },
      ]),
    );
  });

  test('a key survives the removal and the deletion of its creator', async () => {
    const { id, path } = await team();
    const creator = await person('Creator');
    const { id: membership } = await api.addMember(id, creator.id, 'admin');
    const own = await key(creator, id, { as: 'org:admin' });
    await creator.call('POST', '/api/auth/api-keys', { name: 'personal' });
    await api.removeMember(id, membership);
    expect((await own.call('GET', '/api/tickets')).status).toBe(200);
    await service('user').delete(creator.id);
    await vi.waitFor(async () =>
      expect(await query('select 1 from api_keys where user_id = $1 and revoked_at is null', [creator.id])).toEqual([]),
    );
    expect((await own.call('GET', '/api/tickets')).status).toBe(200);
    expect((await owner!.call('GET', path)).body.data).toMatchObject([{ id: own.id, status: 'active' }]);
  });

  test('the keys of an organisation end with it, in the same transaction; personal keys stay', async () => {
    const { id } = await team();
    const { id: remaining } = await team();
    const [own, other] = [await key(owner!, id), await key(owner!, remaining)];
    await own.call('GET', '/api/tickets');
    const personal = await member!.call('POST', '/api/auth/api-keys', { name: 'k', scopes: ['*'] });
    expect((await owner!.call('DELETE', `/api/organisations/${id}`)).status).toBe(204);
    const [row] = await query('select revoked_at, last_used_ip from api_keys where id = $1', [own.id]);
    expect(row).toEqual({ revoked_at: expect.any(Date), last_used_ip: null });
    expect((await own.call('GET', '/api/tickets')).status).toBe(401);
    expect(lastEvent('invalid_api_key')).toMatchObject({ reason: 'organisation_deleted', organisation: id });
    expect((await other.call('GET', '/api/tickets')).status).toBe(200);
    expect((await createClient(url, personal.body.data.key)('GET', '/api/auth/me')).status).toBe(200);
  });

  test('an organisation that is deleted at the same moment keeps no active key', async () => {
    const { id, path } = await team();
    const attempts = [
      ...Array.from({ length: 5 }, (_, i) => owner!.call('POST', path, { name: `k${i}` })),
      api.delete(id).then(() => undefined),
    ];
    for (const one of await Promise.all(attempts)) if (one !== undefined) expect([201, 404, 409]).toContain(one.status);
    expect(await query('select 1 from api_keys where user_id = $1 and revoked_at is null', [id])).toEqual([]);
  });

  test('a key whose role no longer exists is refused', async () => {
    const { id } = await team();
    const own = await key(owner!, id, { as: 'org:admin' });
    await query(`update api_keys set organisation_role = 'removed' where id = $1`, [own.id]);
    expect((await own.call('GET', '/api/tickets')).status).toBe(401);
    expect(lastEvent('invalid_api_key')).toMatchObject({ reason: 'unknown_role', organisation: id });
  });

  test('admins of the app see the keys of organisations with their organisation as owner, and revoke them', async () => {
    const { id, slug } = await team();
    const own = await key(owner!, id);
    const { body } = await root!.call('GET', `/api/admin/api-keys?user=${id}`);
    expect(body.data).toMatchObject([
      { id: own.id, as: 'org:member', organisation: id, owner: { id, name: slug.toUpperCase(), email: null } },
    ]);
    expect((await root!.call('GET', '/api/admin/api-keys?limit=200')).status).toBe(200);
    expect((await root!.call('DELETE', `/api/admin/api-keys/${own.id}`)).status).toBe(204);
    expect((await own.call('GET', '/api/tickets')).status).toBe(401);
    const another = await key(owner!, id);
    await api.delete(id);
    const after = (await root!.call('GET', `/api/admin/api-keys?user=${id}&status=revoked`)).body.data;
    expect(after[0]).toMatchObject({ id: another.id, owner: { id, name: null, email: null } });
  });

  test('code revokes a key of an organisation by its id', async () => {
    const { id } = await team();
    const own = await key(owner!, id);
    const { apiKeys: keys } = app as typeof app & { apiKeys: ApiKeysApi };
    expect([await keys.revoke(own.id), await keys.revoke(own.id)]).toEqual([true, false]);
    expect((await own.call('GET', '/api/tickets')).status).toBe(401);
    expect(lastEvent('api_key_revoked')).toMatchObject({ organisation: id, by: null, reason: 'script' });
  });
});

test('an app without organisations has no such routes', async () => {
  const plain = await startTestApp({ resources: [defineUser()], extensions: [apiKeys()] });
  const { call } = await plain.person('Ann');
  for (const method of ['GET', 'POST'])
    expect(
      (await call(method, `/api/organisations/${'f'.repeat(24)}/api-keys`, method === 'GET' ? undefined : {})).status,
    ).toBe(404);
  expect((await call('POST', '/api/auth/api-keys', { name: 'x' })).status).toBe(201);
});
