import { afterAll, expect, test, vi } from 'vitest';
import { startReceiver } from '../../fakes/receiver.ts';
import { createClient } from '../../support/app.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';
import { createRoleEnv, startBlog } from '../../support/processes/app-process.ts';

const RECORDS = 150;
const database = await createTestDatabase();
afterAll(() => database.drop());
const env = { ...createRoleEnv(database), TRUST_PROXY: 'loopback', CHEAP_PASSWORDS: 'on' };
const patience = { timeout: 90_000, interval: 50 };
const longWait = { ...patience, interval: 250 };

test('no event of an acknowledged record is lost when relay, worker and web are killed, and repeated events keep their id', {
  timeout: 240_000,
}, async () => {
  const receiver = await startReceiver();
  const web = startBlog('web', env);
  const url = await web.url();
  const workers = ['relay', 'webhook-worker'] as const;
  const start = (role: (typeof workers)[number]) => startBlog(role, env);
  let running = workers.map(start);

  const account = { name: 'Ada', email: 'ada@example.com', password: 'a bell rings at noon' };
  const { token } = (await createClient(url)('POST', '/api/auth/register', account)).body.data;
  await createClient(url, token)('POST', '/api/webhooks', { url: receiver.url, events: ['post.created'] });

  const acknowledged = new Set<string>();
  let sent = 0;
  const client = async (_: unknown, index: number) => {
    // A single address may not send that many requests.
    const from = { 'x-forwarded-for': `203.0.113.${index}` };
    while (sent < RECORDS) {
      const title = `Post ${sent++}`;
      // A request that the killed web process broke off was not acknowledged, so nothing is promised about it.
      const response = await createClient(url, token)('POST', '/api/posts', { title }, from).catch(() => undefined);
      if (response?.status === 201) acknowledged.add(response.body.data.id);
    }
  };
  const clients = Promise.all(Array.from({ length: 10 }, client));
  await vi.waitUntil(() => receiver.requests.length > 0 && acknowledged.size > RECORDS / 4, patience);
  for (const { child } of running) child.kill('SIGKILL');
  await Promise.all(running.map((one) => one.ended));
  running = workers.map(start);
  await vi.waitUntil(() => acknowledged.size > RECORDS / 2, patience);
  web.child.kill('SIGKILL');
  await web.ended;
  await clients;
  expect(acknowledged.size).toBeGreaterThan(RECORDS / 2);

  const arrivals = () =>
    receiver.requests.map(
      (one) => [JSON.parse(one.body.toString()).data.id as string, one.headers['webhook-id']] as const,
    );
  await vi.waitUntil(() => {
    const there = new Set(arrivals().map(([record]) => record));
    return [...acknowledged].every((record) => there.has(record));
  }, longWait);
  const idsOf = Map.groupBy(arrivals(), ([record]) => record);
  expect([...idsOf.values()].every((list) => new Set(list.map(([, id]) => id)).size === 1)).toBe(true);

  for (const { child } of running) child.kill('SIGTERM');
  await Promise.all(running.map((one) => one.ended));
  await receiver.close();
});
