import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { apiKeys, createApp, defineUser, softDelete, twoFactor, webhooks } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { challenge, codeOf, guard, PASSWORD, verify } from '../two-factor/two-factor-user.ts';

const declared = {
  resources: [defineUser({ softDelete: true })],
  extensions: [softDelete(), apiKeys(), twoFactor(), webhooks()],
};
const { call, person, env, url } = await startTestApp(declared);
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());
const root = await person('Root', ['user', 'admin']);

async function guarded(name: string) {
  const who = await guard(await person(name), database);
  const { body } = await who.call('POST', '/api/webhooks', { url: 'https://example.com/hook', events: ['user.*'] });
  expect(body.data.id).toBeDefined();
  return who;
}

/** Starts a relay and resolves once it has handled all events and started all sweeps. */
async function relay(): Promise<void> {
  const app = createApp(declared, env);
  await app.start({ roles: ['relay'] });
  onTestFinished(() => app.close());
  await vi.waitUntil(async () => (await database.query('select from outbox')).rowCount === 0, { timeout: 60_000 });
}

const remove = async (id: string) => expect((await root.call('DELETE', `/api/users/${id}`)).status).toBe(204);
const restore = async (id: string) => expect((await root.call('POST', `/api/users/${id}/restore`)).status).toBe(200);
const login = async (email: string) => (await call('POST', '/api/auth/login', { email, password: PASSWORD })).body.data;
const counted = async (table: string, column: string, id: string) =>
  (await database.query(`select from ${table} where ${column} = $1`, [id])).rowCount;

test('the relay keeps what users create after they were restored', async () => {
  const ada = await guarded('Ada');
  await remove(ada.id);
  await restore(ada.id);
  expect((await ada.call('GET', '/api/auth/me')).status).toBe(401);
  const { body } = await verify(call, await challenge(call, ada), codeOf(ada.secret));
  const back = createClient(url, body.data.token);
  const made = await back('POST', '/api/auth/api-keys', { name: 'CI', scopes: ['*'] });
  const endpoint = { url: 'https://example.com/hook', events: ['user.*'] };
  const kept = (await back('POST', '/api/webhooks', endpoint)).body.data.id;
  await relay();
  const key = createClient(url, made.body.data.key);
  expect([(await back('GET', '/api/auth/me')).status, (await key('GET', `/api/users/${ada.id}`)).status]).toEqual([
    200, 200,
  ]);
  expect((await back('GET', '/api/webhooks')).body.data).toMatchObject([{ id: kept, enabled: true }]);
});

test('a deleted user is signed out but keeps their second factor, which is removed once the user can no longer be restored', async () => {
  const bob = await guarded('Bob');
  await remove(bob.id);
  await relay();
  expect(await counted('sessions', 'user_id', bob.id)).toBe(0);
  await restore(bob.id);
  expect((await bob.call('GET', '/api/auth/me')).status).toBe(401);
  expect(await login(bob.email)).toMatchObject({ mfaRequired: true });
  await remove(bob.id);
  await relay();
  expect(await counted('two_factors', 'user_id', bob.id)).toBe(1);
  await database.query('delete from users_deleted where id = $1', [bob.id]);
  await relay();
  await expect.poll(() => counted('two_factors', 'user_id', bob.id)).toBe(0);
});
