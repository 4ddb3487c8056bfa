import { afterAll, expect, test, vi } from 'vitest';
import { startReceiver } from '../fakes/receiver.ts';
import { clientOf } from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import { envOfOneRole, startBlog } from '../support/processes.ts';

const database = await createTestDatabase();
afterAll(() => database.drop());
// Each starts processes, which take long on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

const env = { ...envOfOneRole(database), LOG_LEVEL: 'info' };
const started = { timeout: 60_000, interval: 25 };

test('every fault of the environment is listed at once, and the process exits with 1 before a port is opened', async () => {
  const web = startBlog('web', {
    REDIS_URL: 'http://x',
    PORT: '70000',
    SVC_ENCRYPTION_KEYS: 'short',
    RELAY: 'maybe',
  });
  expect(await web.ended).toBe(1);
  for (const name of ['DATABASE_URL', 'REDIS_URL', 'PORT', 'SVC_ENCRYPTION_KEYS', 'RELAY', 'APP_URL']) {
    expect(web.said()).toContain(name);
  }
  expect(web.said()).not.toContain('listens');
  expect(web.said()).not.toContain('    at ');
});

test('a database that cannot be reached is tried a few times, each with a line, then the process exits with 1', async () => {
  const web = startBlog('web', {
    ...env,
    NODE_ENV: 'test',
    LOG_LEVEL: 'warn',
    DATABASE_URL: 'postgres://u:hidden@127.0.0.1:1/x',
  });
  expect(await web.ended).toBe(1);
  expect(web.said().match(/Postgres at 127\.0\.0\.1:1 cannot be reached/g)!.length).toBeGreaterThanOrEqual(5);
  expect(web.said()).not.toContain('hidden');
});

test('four processes apart carry a change to a receiver, and stop cleanly at SIGTERM', {
  timeout: 240_000,
}, async () => {
  const receiver = await startReceiver();
  const web = startBlog('web', env);
  const url = await web.url();
  const others = (['relay', 'webhook-worker', 'push-worker'] as const).map((role) => startBlog(role, env));

  const call = clientOf(url);
  const { body } = await call('POST', '/api/auth/register', {
    name: 'Ada',
    email: 'ada@example.com',
    password: 'a bell rings at noon',
  });
  const ada = clientOf(url, body.data.token);
  expect((await ada('POST', '/api/webhooks', { url: receiver.url, events: ['post.created'] })).status).toBe(201);
  await ada('POST', '/api/posts', { title: 'carried' });
  // A client's mistake: the token stands in the path, and in the query.
  await call('GET', `/api/auth/${body.data.token}?token=${body.data.token}`);
  await vi.waitUntil(() => receiver.requests.length === 1, started);
  expect((await call('GET', '/readyz')).body).toEqual({
    status: 'ok',
    checks: { postgres: 'ok', redis: 'ok', migrations: 'ok' },
  });

  for (const { child } of [web, ...others]) child.kill('SIGTERM');
  expect(await Promise.all([web, ...others].map((one) => one.ended))).toEqual([0, 0, 0, 0]);
  const lines = web
    .said()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
  expect(lines.filter((line) => line.msg === 'request' && line.path === '/api/posts')).toEqual([
    expect.objectContaining({ method: 'POST', status: 201, requestId: expect.any(String), via: 'session' }),
  ]);
  expect(web.said()).not.toContain('a bell rings');
  expect(web.said()).not.toContain(body.data.token);
  await receiver.close();
});

test('a port in use is said, with exit code 1', async () => {
  const first = startBlog('web', env);
  const { port } = new URL(await first.url());
  const second = startBlog('web', { ...env, PORT: port });
  expect(await second.ended).toBe(1);
  expect(second.said()).toContain(`port ${port} is in use`);
  first.child.kill('SIGTERM');
  expect(await first.ended).toBe(0);
});
