import { expect, test, vi } from 'vitest';
import { defineUser, f } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';

const secret = 'correct horse battery';
const { app, call, url } = await startTestApp(
  {
    resources: [defineUser({ fields: { password: f.password() } })],
    settings: { auth: { legacyPassword: (hash, password) => hash === `plain:${password}` } },
  },
  { roles: 'all' },
);
const register = (email: string) => call('POST', '/api/auth/register', { name: 'Ann', email });
const login = async (email: string, password: string) =>
  (await call('POST', '/api/auth/login', { email, password })).status;

test('with an optional password, a user who registers without one is signed in and can set one only by a reset', async () => {
  const { status, body } = await register('ann@example.com');
  expect(status).toBe(201);
  const ann = createClient(url, body.data.token);
  expect((await ann('GET', '/api/auth/me')).body.data.email).toBe('ann@example.com');
  for (const password of ['', '!', secret]) expect(await login('ann@example.com', password)).toBe(401);
  const change = await ann('POST', '/api/auth/password', { currentPassword: '', newPassword: secret });
  expect([change.status, change.body.error.details]).toEqual([
    422,
    { currentPassword: 'Must be your current password' },
  ]);

  await call('POST', '/api/auth/password/forgot', { email: 'ann@example.com' });
  const mail = await vi.waitUntil(async () => (await app.captured.mails())[0], { timeout: 60_000 });
  const token = new URL(/http\S+/.exec(mail.text)![0]).searchParams.get('token');
  expect((await call('POST', '/api/auth/password/reset', { token, password: secret })).status).toBe(204);
  expect((await ann('GET', '/api/auth/me')).status).toBe(401);
  expect(await login('ann@example.com', secret)).toBe(200);
});

test('a user without a password cannot sign in with the imported hash of another user', async () => {
  await register('bob@example.com');
  async function* rows() {
    yield JSON.stringify({ email: 'cy@example.com', name: 'Cy', passwordHash: `plain:${secret}` });
  }
  await app.accounts!.importUsers(rows());
  expect(await login('cy@example.com', 'not the secret')).toBe(401);
  expect(await login('bob@example.com', secret)).toBe(401);
  expect(await login('cy@example.com', secret)).toBe(200);
});
