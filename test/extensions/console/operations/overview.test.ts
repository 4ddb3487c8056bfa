import { expect, test } from 'vitest';
import { adminConsole } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';
import { API, resources, startOperationsApp } from './operations-app.ts';

const { admin, app, env, redis, read } = await startOperationsApp();

test('the overview says how the servers, the outbox, the queues and the requests are', async () => {
  const overview = await read('/overview');
  expect(overview.postgres).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d/),
    maxConnections: expect.any(Number),
  });
  expect(overview.redis.servers[0]).toMatchObject({ evictionPolicy: 'noeviction', latencyMs: expect.any(Number) });
  expect(overview.outbox).toMatchObject({ rows: expect.any(Number), isCapped: false });
  expect(overview.queues.count).toBeGreaterThan(2);
  // While an app starts on a busy machine, callers may wait for its first connections.
  await expect.poll(async () => (await read('/overview')).concerns, { timeout: 20_000 }).toEqual([]);
  expect(JSON.stringify(overview)).not.toContain(new URL(env.DATABASE_URL!).password || 'password');
});

test('the checks are those of the doctor, and are not repeated within 30 seconds', async () => {
  const first = await read('/checks');
  expect(first.findings).toContainEqual({ level: 'ok', message: 'The database has everything that the app declares' });
  expect(first.findings).toContainEqual(expect.objectContaining({ level: 'warning', message: 'SMTP_URL is not set' }));
  expect((await read('/checks')).at).toBe(first.at);
  const { body } = await admin.call('GET', `${API}/checks`, undefined, { 'belfry-language': 'de' });
  expect(body.data.findings).toContainEqual({
    level: 'warning',
    message: 'SMTP_URL ist nicht gesetzt',
    fix: expect.stringMatching(/^setzen Sie SMTP_URL und MAIL_FROM: /),
  });
});

test('the first page says what is wrong while nothing works on a queue', async () => {
  await app.service('note').create({ title: 'x' });
  await redis.zadd(`${env.REDIS_PREFIX}:{processes}:queues`, Date.now(), 'abandoned');
  await redis.lpush(`${env.REDIS_PREFIX}:{abandoned}:abandoned:wait`, '1');
  await redis.hset(`${env.REDIS_PREFIX}:{abandoned}:abandoned:1`, {
    name: 'process',
    data: '{}',
    opts: '{}',
    timestamp: Date.now() - 5000,
  });
  const messages = async () => (await read('/overview')).concerns.map(({ message }: { message: string }) => message);
  await expect.poll(messages, { timeout: 5000 }).toContain('No process works on the queue abandoned');
});

test('while Redis is down, the overview says so, and the other pages say what they cannot read', async () => {
  const proxy = await startTcpProxy(new URL(env.REDIS_URL!));
  const other = await startTestApp(
    { resources, extensions: [adminConsole()] },
    { env: () => ({ REDIS_URL: proxy.url }), roles: ['web', 'relay', 'job-worker'] },
  );
  expect((await other.call('GET', `${API}/queues`)).status).toBe(200);
  await proxy.close();
  const concerns = async () =>
    (await other.call('GET', `${API}/overview`)).body.data.concerns.map(({ message }: { message: string }) => message);
  await expect.poll(concerns, { timeout: 10_000 }).toContainEqual(expect.stringMatching(/^Redis cannot be reached/));
  const { redis: state } = (await other.call('GET', `${API}/overview`, undefined, { 'belfry-language': 'de' })).body
    .data;
  expect(state).toEqual({
    problem: expect.stringMatching(/^Redis ist nicht erreichbar: /),
    fix: 'prüfen Sie REDIS_URL, und ob Redis läuft',
  });
  for (const path of [
    '/queues',
    '/limits/clients',
    '/limits/lockouts',
    '/slow',
    '/log',
    '/limits/lookup?q=a@example.com',
  ]) {
    const codeOf = async () => (await other.call('GET', API + path)).body.error?.code;
    await expect.poll(codeOf, { message: path, timeout: 5000 }).toBe('UNAVAILABLE');
  }
  const advice = `(${new URL(proxy.url).host}). Check REDIS_URL, and that Redis runs.`;
  const problem = async () => (await other.call('GET', `${API}/processes`)).body.data.problem;
  await expect.poll(problem, { timeout: 5000 }).toContain(advice);
  expect((await other.call('GET', `${API}/slow`)).body.error.message).toContain(advice);
  // For a second, an overview may share what was read before.
  const known = async () => Object.keys((await other.call('GET', `${API}/overview`)).body.data);
  await expect.poll(known, { timeout: 5000 }).toEqual(['concerns', 'postgres', 'redis', 'outbox']);
  expect((await other.call('GET', `${API}/outbox`)).status).toBe(200);
  expect((await other.call('GET', `${API}/limits`)).status).toBe(200);
});
