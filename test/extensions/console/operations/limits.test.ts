import { expect, test, vi } from 'vitest';
import { API, startOperationsApp } from './operations-app.ts';

const { call, person, env, admin, redis, read, entryOf } = await startOperationsApp();

test('the configured limits are listed', async () => {
  const rules = await read('/limits');
  expect(rules).toMatchObject({
    isEnabled: true,
    global: { limit: 100_000, windowMs: 60_000 },
    auth: { limit: 40, windowMs: 60_000 },
    lockout: { maxAttempts: 5, windowMinutes: 15, lockMinutes: 15 },
  });
  expect(rules.authRoutes).toContain('POST /api/auth/login');
});

test('a limited client can be looked up and let in again, in every process', async () => {
  const limit = 40;
  let status = 0;
  for (let i = 0; i <= limit && status !== 429; i++)
    ({ status } = await call('POST', '/api/auth/password/forgot', { email: 'nobody@example.com' }));
  expect(status).toBe(429);
  const { counts } = await read('/limits/lookup?q=127.0.0.1');
  const counted = counts.find(({ isLimited }: { isLimited: boolean }) => isLimited);
  expect(counted).toMatchObject({
    name: 'POST /auth/password/forgot',
    label: 'POST /api/auth/password/forgot',
    limit,
  });
  const listed = (await read('/limits/clients')).clients[0];
  expect(listed).toMatchObject({ client: '127.0.0.1', isLimited: true, windowMs: 60_000 });

  const { name, windowMs, client } = counted;
  expect((await admin.call('POST', `${API}/limits/clients/clear`, { name, windowMs, client })).status).toBe(204);
  expect((await call('POST', '/api/auth/password/forgot', { email: 'nobody@example.com' })).status).not.toBe(429);
  const entry = await entryOf('console.limitCleared');
  expect(entry).toMatchObject({ resource: 'rate-limit', user: admin.id, details: { limit: name } });
  expect(entry.details).toEqual({ limit: name });
  const again = await admin.call('POST', `${API}/limits/clients/clear`, { name: 'nope', windowMs: 1, client });
  expect(again.body.error.code).toBe('NOT_FOUND');
  const mails = { name: 'mails', windowMs: 1, client: `sign-in:${admin.id}` };
  expect((await admin.call('POST', `${API}/limits/clients/clear`, mails)).status).toBe(404);
  const entriesOf = async () =>
    (await admin.call('GET', '/console/api/audit/entries?action=console.limitCleared')).body.data;
  const named = { details: { limit: 'mails', user: admin.id } };
  await expect.poll(entriesOf, { timeout: 30_000 }).toContainEqual(expect.objectContaining(named));
});

test('e-mails to an address are counted under a hash, which a search for the address finds and can clear', async () => {
  const email = 'Victim@personal.example';
  expect((await admin.call('POST', '/api/invitations', { email })).status).toBe(201);
  const keys = await redis.keys(`${env.REDIS_PREFIX}:limit:*invitation mails*`);
  expect(keys).toHaveLength(1);
  expect(keys[0]!.toLowerCase()).not.toContain('victim');
  const listed = await vi.waitUntil(async () =>
    (await read('/limits/clients')).clients.find(({ name }: { name: string }) => name === 'invitation mails'),
  );
  expect(listed).toMatchObject({ client: expect.stringMatching(/^sha256:[0-9a-f]{64}$/), count: 1 });
  const found = await read(`/limits/lookup?q=${encodeURIComponent(email.toLowerCase())}`);
  expect(found.counts).toMatchObject([{ name: 'invitation mails', client: listed.client, count: 1 }]);
  const { name, windowMs, client } = listed;
  expect((await admin.call('POST', `${API}/limits/clients/clear`, { name, windowMs, client })).status).toBe(204);
  expect((await read(`/limits/lookup?q=${encodeURIComponent(email)}`)).counts).toEqual([]);
});

test('a locked account is found by its address, and unlocked, which is recorded', async () => {
  const person1 = await person('Locked');
  const login = (password: string) => call('POST', '/api/auth/login', { email: person1.email, password });
  for (let i = 0; i < 5; i++) await login('wrong');
  expect((await login('correct horse battery')).status).toBe(429);
  const found = await read(`/limits/lookup?q=${encodeURIComponent(person1.email.toUpperCase())}`);
  expect(found).toMatchObject({ kind: 'account', user: person1.id, lockouts: [{ kind: 'sign-in' }] });
  expect(found.lockouts[0].lockedUntil).toMatch(/^\d{4}-/);
  const listed = await vi.waitUntil(async () =>
    (await read('/limits/lockouts')).lockouts.find(({ id }: { id: string }) => id === found.lockouts[0].id),
  );
  expect(JSON.stringify(listed)).not.toContain(person1.email);

  expect((await admin.call('POST', `${API}/limits/accounts/${person1.id}/unlock`)).status).toBe(204);
  expect((await login('correct horse battery')).status).toBe(200);
  expect(await entryOf('console.accountUnlocked')).toMatchObject({ resource: 'user', record: person1.id });
});

test('a lock is cleared by its hash', async () => {
  const login = () => call('POST', '/api/auth/login', { email: 'unknown@example.com', password: 'x' });
  for (let i = 0; i < 5; i++) await login();
  expect((await login()).status).toBe(429);
  const { lockouts } = await read('/limits/lookup?q=unknown@example.com');
  expect((await admin.call('POST', `${API}/limits/lockouts/${lockouts[0].id}/clear`)).status).toBe(204);
  expect((await login()).status).toBe(401);
  const entry = await entryOf('console.lockoutCleared');
  expect(entry).toMatchObject({ resource: 'lockout', record: null, user: admin.id });
  expect(JSON.stringify(entry)).not.toContain(lockouts[0].id);
});

test.each(['', 'nobody', '127.0.0.1.5', '%00', 'x'.repeat(400), '*'])('the search refuses %j', async (text) => {
  const { status, body } = await admin.call('GET', `${API}/limits/lookup?q=${encodeURIComponent(text)}`);
  expect([status, body.error.code]).toEqual([400, 'BAD_REQUEST']);
});

test('hostile ids change nothing', async () => {
  await redis.set(`${env.REDIS_PREFIX}:lockout:kept`, '{}');
  expect((await admin.call('POST', `${API}/limits/lockouts/kept/clear`)).status).toBe(404);
  expect(await redis.exists(`${env.REDIS_PREFIX}:lockout:kept`)).toBe(1);
  expect((await admin.call('POST', `${API}/limits/accounts/${'0'.repeat(24)}/unlock`)).status).toBe(404);
  expect((await admin.call('POST', `${API}/limits/clients/clear`, { name: 'all' })).status).toBe(422);
});
