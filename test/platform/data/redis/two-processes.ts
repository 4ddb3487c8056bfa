import { afterAll, expect, onTestFinished, TestRunner, vi } from 'vitest';
import { createApp, defineResource, defineUser, f, realtime, webhooks } from '../../../../src/index.ts';
import { ready } from '../../../extensions/realtime/listen.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { createClient } from '../../../support/app.ts';
import { createTestDatabase } from '../../../support/database/test-database.ts';

const options = {
  resources: [
    defineUser(),
    defineResource('note', {
      fields: { title: f.string(), author: f.ref('user').owner() },
      policies: { list: 'public', read: 'public', create: 'authenticated' },
    }),
  ],
  extensions: [realtime({ heartbeatSeconds: 0.5 }), webhooks({ allowPrivate: true, requireHttps: false })],
  settings: {
    rateLimit: { enabled: true, global: { limit: 100_000, windowMs: 3_600_000 }, auth: false },
    auth: { password: { logN: 4, r: 8, p: 1 } },
    relay: { pollMs: 200, sweepMs: 1000 },
  },
} as const;

/** Two processes of one app on one database and one Redis. */
export interface TwoProcesses {
  urls: readonly [string, string];
  /** The Redis settings and the database of both. */
  env: Record<string, string>;
  /** Creates records through the second process, and resolves when the first has delivered the webhook of each. */
  deliver(count: number): Promise<void>;
  /** Sends a test webhook through the second process. Its job has a queue of its own. */
  sendTest(): Promise<void>;
  /** Checks that sign-in, webhooks, rate limits and events for open streams work, across both processes. */
  checkEverything(): Promise<void>;
}

/**
 * Starts two processes: the first runs all roles, the second only `web`. They are closed after the test, or after the file if called
 * outside a test.
 */
export async function startTwoProcesses(redis: Record<string, string>): Promise<TwoProcesses> {
  const atEnd = TestRunner.getCurrentTest() === undefined ? afterAll : onTestFinished;
  const database = await createTestDatabase();
  atEnd(() => database.drop());
  const receiver = await startReceiver();
  atEnd(() => receiver.close());
  const env = {
    NODE_ENV: 'test',
    DATABASE_URL: database.databaseUrl,
    REDIS_PREFIX: database.redisPrefix,
    ...redis,
  };
  const apps = [createApp(options, env), createApp(options, env)] as const;
  atEnd(async () => {
    await Promise.all(apps.map((app) => app.close()));
  });
  await apps[0].migrate({ mode: 'sync' });
  const [first, second] = await Promise.all([apps[0].start({ port: 0 }), apps[1].start({ port: 0, roles: ['web'] })]);
  const account = { email: 'ann@example.com', password: 'correct horse battery' };
  const register = await createClient(first.url)('POST', '/api/auth/register', { name: 'Ann', ...account });
  expect(register.status).toBe(201);
  const { token } = (await createClient(second.url)('POST', '/api/auth/login', account)).body.data;
  const calls = [first.url, second.url].map((url) => createClient(url, token));
  const webhook = await calls[0]!('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'] });

  async function deliver(count: number): Promise<void> {
    const created = await Promise.all(
      Array.from({ length: count }, () => calls[1]!('POST', '/api/notes', { title: 'x' })),
    );
    expect(created.map(({ status }) => status)).toEqual(Array(count).fill(201));
    const missing = () => {
      const there = new Set(receiver.requests.map(({ body }) => JSON.parse(body).data?.id as string));
      return created.map(({ body }) => body.data.id as string).filter((id) => !there.has(id));
    };
    await vi.waitUntil(() => missing().length === 0, { timeout: 120_000, interval: 20 });
  }

  async function sendTest(): Promise<void> {
    const { status, body } = await calls[1]!('POST', `/api/webhooks/${webhook.body.data.id}/test`);
    expect([status, body.data.status]).toEqual([200, 'succeeded']);
  }

  async function checkEverything(): Promise<void> {
    const ready200 = async (url: string) => (await fetch(`${url}/readyz`)).status === 200;
    for (const url of [first.url, second.url])
      await vi.waitUntil(() => ready200(url), { timeout: 60_000, interval: 100 });
    const remaining: number[] = [];
    const count = async (call: (typeof calls)[number]) =>
      remaining.push(Number((await call('GET', '/api/notes')).headers.get('ratelimit-remaining')));
    // While a breaker is open, a process counts by itself; requests close it.
    await vi.waitUntil(
      async () => {
        remaining.length = 0;
        for (const call of [calls[0]!, calls[1]!, calls[0]!]) await count(call);
        return remaining[0]! - remaining[1]! === 1 && remaining[1]! - remaining[2]! === 1;
      },
      { timeout: 60_000, interval: 100 },
    );
    const stream = await ready(first.url, 'subscribe=note');
    const { body } = await calls[1]!('POST', '/api/notes', { title: 'for the stream' });
    // After a failover, in which Redis may lose the newest entries, clients are told to read their lists again.
    await stream.wait(({ event, data }) => event === 'reset' || data?.id === body.data.id);
    stream.close();
    const login = await createClient(second.url)('POST', '/api/auth/login', account);
    expect(login.status).toBe(200);
    await deliver(5);
  }

  return { urls: [first.url, second.url], env, deliver, sendTest, checkEverything };
}
