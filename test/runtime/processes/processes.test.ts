import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { startReceiver } from '../../fakes/receiver.ts';
import { createClient } from '../../support/app.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';
import { createRoleEnv, startBlog } from '../../support/processes/app-process.ts';

const database = await createTestDatabase();
afterAll(() => database.drop());
// Each test starts processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

const env = { ...createRoleEnv(database), LOG_LEVEL: 'info' };
const started = { timeout: 60_000, interval: 25 };

test('an unreachable database is retried a few times with a log line each; then the process reports it and exits with 1', async () => {
  const web = startBlog('web', {
    ...env,
    LOG_LEVEL: 'warn',
    DATABASE_URL: 'postgres://u:hidden@127.0.0.1:1/x',
  });
  expect(await web.ended).toBe(1);
  expect(web.output().match(/Postgres at 127\.0\.0\.1:1 cannot be reached/g)!.length).toBeGreaterThanOrEqual(5);
  expect(web.output()).toContain('\n  - Postgres at 127.0.0.1:1 cannot be reached');
  expect(web.output()).not.toContain('hidden');
});

test('a database without the declared tables prevents a start in production, and the error names the command that fixes it', async () => {
  const empty = await createTestDatabase();
  onTestFinished(() => empty.drop());
  const web = startBlog('web', {
    ...createRoleEnv(empty),
    NODE_ENV: 'production',
    APP_URL: 'https://api.example.com',
    SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
    LOG_LEVEL: 'silent',
  });
  expect(await web.ended).toBe(1);
  expect(web.output()).toContain('npx belfry migrate');
});

test('four separate processes deliver a change to a receiver, log no password, token or hash at any level, and stop cleanly on SIGTERM', {
  timeout: 240_000,
}, async () => {
  const receiver = await startReceiver();
  const web = startBlog('web', { ...env, LOG_LEVEL: 'trace' });
  const url = await web.url();
  // The address that the documentation names, and the only one of this machine at which passkeys work.
  expect(url).toMatch(/^http:\/\/localhost:[1-9]\d*$/);
  const others = (['relay', 'webhook-worker', 'push-worker'] as const).map((role) => startBlog(role, env));

  const call = createClient(url);
  const password = 'a very secret passphrase';
  const account = { name: 'Ada', email: 'ada@example.com', password };
  const { token } = (await call('POST', '/api/auth/register', account)).body.data;
  const ada = createClient(url, token);
  expect((await ada('POST', '/api/webhooks', { url: receiver.url, events: ['post.created'] })).status).toBe(201);
  await ada('POST', '/api/posts', { title: 'carried' });
  // A client error: the token is in the path and in the query.
  await call('GET', `/api/auth/${token}?token=${token}`);
  await call('POST', '/api/auth/register', account);
  await call('POST', '/api/auth/login', { ...account, name: undefined });
  await call('POST', '/api/auth/login', { email: account.email, password: `${password} wrong` });
  await call('POST', '/api/auth/login', `{"password":"${password}"`);
  await ada('GET', `/api/auth/me?token=${token}`);
  await ada('PATCH', '/api/auth/me', { password, name: 5 });
  await ada('POST', '/api/auth/devices', { token: 'device-secret', platform: 'ios' });
  await vi.waitUntil(() => receiver.requests.length === 1, started);
  expect((await call('GET', '/readyz')).body).toEqual({
    status: 'ok',
    checks: { postgres: 'ok', redis: 'ok', migrations: 'ok' },
  });

  for (const { child } of [web, ...others]) child.kill('SIGTERM');
  expect(await Promise.all([web, ...others].map((one) => one.ended))).toEqual([0, 0, 0, 0]);
  const lines = web
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
  const requests = lines.filter((line) => line.msg === 'request');
  expect(requests.filter(({ route }) => route?.startsWith('/api/'))).toHaveLength(10);
  // The path with the token matched no route, so it is not logged.
  expect(requests.filter(({ route }) => route === undefined)).toEqual([
    expect.objectContaining({ method: 'GET', status: 404 }),
  ]);
  expect(requests.filter(({ route }) => route === '/api/posts')).toEqual([
    expect.objectContaining({
      outcome: 'sent',
      method: 'POST',
      status: 201,
      requestId: expect.any(String),
      userId: expect.any(String),
      via: 'session',
    }),
  ]);
  // Only route patterns are logged, never paths: this keeps ids and other client input out of the log.
  for (const line of requests) expect(line).not.toHaveProperty('path');
  for (const one of [web, ...others]) {
    expect(one.output()).not.toMatch(/secret passphrase|device-secret|scrypt\$/);
    expect(one.output()).not.toContain(token);
  }
  await receiver.close();
});

test('a port in use is reported, with exit code 1', async () => {
  const first = createServer().listen(0);
  onTestFinished(() => void first.close());
  await once(first, 'listening');
  const { port } = first.address() as AddressInfo;
  const web = startBlog('web', { ...env, PORT: String(port) });
  expect(await web.ended).toBe(1);
  expect(web.output()).toContain(`port ${port} is in use`);
});

test('a stopping web process reports that it drains, and ends at the next signal without waiting for the drain delay', async () => {
  const web = startBlog('web', { ...env, DRAIN_DELAY_MS: '300000' });
  const url = await web.url();
  web.child.kill('SIGTERM');
  const isDraining = async () => {
    const response = await fetch(`${url}/readyz`);
    return response.status === 503 && ((await response.json()) as { status: string }).status === 'draining';
  };
  await vi.waitUntil(isDraining, started);
  // A signal within a moment counts as the same one: terminals and parent processes may send it twice.
  const signals = setInterval(() => web.child.kill('SIGTERM'), 100);
  onTestFinished(() => clearInterval(signals));
  expect(await web.ended).toBe(1);
});
