import { expect, onTestFinished, test, vi } from 'vitest';
import { generateKey } from '../../../src/extensions/api-keys/key-format.ts';
import { createClient } from '../../support/app.ts';
import { startKeysApp } from './app.ts';

const patience = { timeout: 60_000, interval: 20 };

const { app, url, call, person, key, query, seen } = await startKeysApp();
const ann = await person('Ann');
const root = await person('Root', ['admin']);
const SAME = { code: 'UNAUTHORIZED', message: 'Session is invalid or has expired', requestId: expect.any(String) };
const lastUse = async (id: string) =>
  (await query('select last_used_at, last_used_ip from api_keys where id = $1', [id]))[0];

test('a key acts as its owner: the owner’s policies, scope filters and field rules apply', async () => {
  const { id, call: script } = await key(ann, { scopes: ['*'] });
  const me = await script('GET', '/api/auth/me');
  expect([me.status, me.body.data.id]).toEqual([200, ann.id]);
  const who = await script('GET', '/api/notes/whoami');
  expect(who.body.data).toEqual({ auth: { via: 'api-key', scopes: ['*'], id }, user: ann.id });
  const session = await ann.call('GET', '/api/notes/whoami');
  expect(session.body.data.auth).toEqual({ via: 'session', scopes: ['*'], id: expect.any(String) });
  const own = await script('POST', '/api/notes', { text: 'mine' });
  expect([own.status, own.body.data.author]).toEqual([201, ann.id]);
  const others = await root.call('POST', '/api/notes', { text: 'not hers' });
  expect((await script('GET', `/api/notes/${others.body.data.id}`)).status).toBe(404);
  expect((await script('DELETE', `/api/notes/${own.body.data.id}`)).status).toBe(403);
  expect((await script('POST', '/api/things', {})).status).toBe(403);
});

test('a key loses a role at once when its owner loses it', async () => {
  const ada = await person('Ada', ['admin']);
  const { call: script } = await key(ada, { scopes: ['*'] });
  expect((await script('GET', '/api/users')).status).toBe(200);
  await app.service('user').update(ada.id, { roles: ['user'] } as never);
  expect((await script('GET', '/api/users')).status).toBe(403);
});

test('every refused key gets the same 401, on public routes too; the event has the reason but not the key', async () => {
  const refused = async (token: string, reason: string) => {
    seen.invalid_api_key!.length = 0;
    for (const path of ['/api/notes', '/api/things', '/api/auth/me', '/api/auth/api-keys']) {
      const { status, body } = await createClient(url, token)('GET', path);
      expect([status, body]).toEqual([401, { error: SAME }]);
    }
    expect(seen.invalid_api_key!.map((payload) => payload.reason)).toEqual(Array(4).fill(reason));
    expect(seen.invalid_api_key![0]!.ip).toBe('127.0.0.1');
    expect(JSON.stringify(seen)).not.toContain(token.slice(8));
  };
  const bea = await person('Bea');
  const make = () => key(bea, { scopes: ['*'] });
  const [good, revoked, expired] = [await make(), await make(), await make()];
  await refused(`${good.key.slice(0, -1)}${good.key.endsWith('0') ? '1' : '0'}`, 'checksum');
  await refused('svc_ak_short', 'checksum');
  await refused(generateKey(), 'unknown');
  await bea.call('DELETE', `/api/auth/api-keys/${revoked.id}`);
  await refused(revoked.key, 'revoked');
  await query(`update api_keys set expires_at = now() - make_interval(secs => 1) where id = $1`, [expired.id]);
  await refused(expired.key, 'expired');
  await app.service('user').update(bea.id, { status: 'disabled' } as never);
  await refused(good.key, 'user_disabled');
  expect(seen.invalid_api_key![0]).toEqual({
    reason: 'user_disabled',
    keyId: good.id,
    userId: bea.id,
    prefix: good.prefix,
    ip: '127.0.0.1',
  });
  await app.service('user').update(bea.id, { status: 'active' } as never);
  expect((await good.call('GET', '/api/notes')).status).toBe(200);
  await app.service('user').delete(bea.id);
  await refused(good.key, 'user_deleted');
  await vi.waitFor(async () => {
    const [row] = await query('select revoked_at, last_used_ip from api_keys where id = $1', [good.id]);
    expect([row.revoked_at === null, row.last_used_ip]).toEqual([false, null]);
  }, patience);
  await refused(good.key, 'user_deleted');
});

test.each(['?token=KEY', '?access_token=KEY', '?api_key=KEY'])(
  'a key in the query string %s is ignored',
  async (end) => {
    const { key: value } = await key(ann);
    const { status } = await call('GET', `/api/auth/me${end.replace('KEY', value)}`);
    expect(status).toBe(401);
  },
);

test('lastUsedAt and lastUsedIp are written on the first use and then at most once a minute', async () => {
  const cy = await person('Cy');
  const { id, call: script } = await key(cy);
  expect(await lastUse(id)).toEqual({ last_used_at: null, last_used_ip: null });
  await Promise.all(Array.from({ length: 10 }, () => script('GET', '/api/auth/me')));
  await vi.waitFor(async () => expect((await lastUse(id)).last_used_ip).toBe('127.0.0.1'), patience);
  const first = await lastUse(id);
  const [{ xmin }] = await query('select xmin from api_keys where id = $1', [id]);
  for (let use = 0; use < 10; use++) await script('GET', '/api/auth/me');
  expect((await query('select xmin from api_keys where id = $1', [id]))[0].xmin).toBe(xmin);
  await query(`update api_keys set last_used_at = now() - interval '61 seconds' where id = $1`, [id]);
  await script('GET', '/api/auth/me');
  await vi.waitFor(async () => expect((await lastUse(id)).last_used_at > first.last_used_at).toBe(true), patience);
  const [listed] = (await cy.call('GET', '/api/auth/api-keys')).body.data;
  expect(listed).toMatchObject({ id, lastUsedIp: '127.0.0.1', lastUsedAt: expect.stringMatching(/Z$/) });
});

test('a process whose clock is an hour slow records uses correctly', async () => {
  const eve = await person('Eve');
  const { id, call: script } = await key(eve);
  await query(`update api_keys set last_used_at = now() - interval '61 seconds' where id = $1`, [id]);
  const [{ last_used_at: former }] = await query('select last_used_at from api_keys where id = $1', [id]);
  onTestFinished(() => void vi.useRealTimers());
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
  await script('GET', '/api/auth/me');
  vi.useRealTimers();
  await vi.waitFor(async () => expect((await lastUse(id)).last_used_at > former).toBe(true), patience);
});

test('recording a use late does not reactivate a key revoked in the meantime', async () => {
  const dan = await person('Dan');
  for (let round = 0; round < 10; round++) {
    const { id, call: script } = await key(dan);
    const [used, revoked] = await Promise.all([
      script('GET', '/api/auth/me'),
      dan.call('DELETE', `/api/auth/api-keys/${id}`),
    ]);
    expect([[200, 401].includes(used.status), revoked.status]).toEqual([true, 204]);
    expect((await script('GET', '/api/auth/me')).status).toBe(401);
    const [row] = await query('select revoked_at from api_keys where id = $1', [id]);
    expect(row.revoked_at).not.toBeNull();
  }
});
