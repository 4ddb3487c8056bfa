import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { LEASE_MS } from '../../../../../../src/extensions/webhooks/engine/delivery/lease-store.ts';
import { LINGER_MS } from '../../../../../../src/extensions/webhooks/engine/delivery/linger.ts';
import { createApp, defineResource, defineUser, f, webhooks } from '../../../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../../../fakes/receiver.ts';
import { startTestApp } from '../../../../../support/app.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const options = {
  resources: [defineUser(), note],
  extensions: [webhooks({ allowPrivate: true, requireHttps: false, retrySchedule: [50] })],
  settings: { relay: { pollMs: 100 } },
};
const { person, env } = await startTestApp(options, { roles: 'all' });
const redis = new Redis(env.REDIS_URL!);
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const receivers: Receiver[] = [];
afterAll(async () => {
  redis.disconnect();
  await client.end();
  await Promise.all(receivers.map((receiver) => receiver.close()));
});
vi.setConfig({ testTimeout: 120_000 });
const until = (condition: () => unknown) => vi.waitUntil(condition, { timeout: 60_000, interval: 20 });

const keyOf = (name: string) => `${env.REDIS_PREFIX}:{webhooks}:webhooks:${name}`;
/** Returns how many jobs for endpoints have started so far. */
async function countStartedJobs(): Promise<number> {
  const entries = await redis.xrange(keyOf('events'), '-', '+');
  return entries.filter(([, fields]) => fields[1] === 'active').length;
}

async function subscribe(more: object = {}) {
  const [who, receiver] = [await person('Ann'), await startReceiver()];
  receivers.push(receiver);
  const { body } = await who.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'], ...more });
  const write = async (text: string) =>
    expect((await who.call('POST', '/api/notes', { text })).status, 'a note is created').toBe(201);
  const receivedTexts = () => receiver.requests.map(({ body }) => JSON.parse(body).data.text as string);
  return { who, receiver, id: body.data.id as string, path: `/api/webhooks/${body.data.id}`, write, receivedTexts };
}

const DELIVERIES = 30;
const texts = Array.from({ length: DELIVERIES }, (_, i) => `note ${i}`);

test.each([
  ['an endpoint', {}],
  ['an ordered endpoint', { ordered: true }],
])('the deliveries to %s that follow one another need few jobs', async (_, more) => {
  const one = await subscribe(more);
  await one.write('first');
  await one.receiver.received(1);
  const before = await countStartedJobs();
  for (const [i, text] of texts.entries()) {
    await one.write(text);
    await one.receiver.received(i + 2);
  }
  // A job for each without lingering. A busy machine may pause for longer than a lease waits.
  expect((await countStartedJobs()) - before).toBeLessThan(DELIVERIES / 2);
  expect(one.receivedTexts()).toEqual(['first', ...texts]);
});

test('the deliveries to an endpoint that are seconds apart need few jobs', async () => {
  const one = await subscribe();
  await one.write('first');
  await one.receiver.received(1);
  const before = await countStartedJobs();
  const spaced = texts.slice(0, 6);
  for (const [i, text] of spaced.entries()) {
    await sleep(1500);
    await one.write(text);
    await one.receiver.received(i + 2);
  }
  expect((await countStartedJobs()) - before).toBeLessThan(spaced.length / 2);
});

test('a lease waits for a shorter time than it lasts without a renewal', () => {
  // The last renewal may be a second old when the wait begins.
  expect(LINGER_MS + 1000).toBeLessThan(LEASE_MS);
});

test('deliveries whose announcements are lost arrive all the same, each once', async () => {
  const people = await Promise.all(Array.from({ length: 5 }, () => subscribe()));
  await Promise.all(people.map(({ write }) => write('first')));
  await Promise.all(people.map(({ receiver }) => receiver.received(1)));
  const publish = vi.spyOn(Redis.prototype, 'publish').mockResolvedValue(0);
  onTestFinished(() => publish.mockRestore());
  for (const text of texts.slice(0, 5)) await Promise.all(people.map(({ write }) => write(text)));
  await Promise.all(people.map(({ receiver }) => receiver.received(6)));
  expect(publish).toHaveBeenCalled();
  for (const { receivedTexts } of people) expect(receivedTexts().toSorted()).toEqual(['first', ...texts.slice(0, 5)]);
});

test('a delivery that is created while the wait of a lease ends is sent, and none is sent twice', async () => {
  const people = await Promise.all(Array.from({ length: 16 }, () => subscribe()));
  const rounds = 3;
  await Promise.all(
    people.map(async ({ write, receiver }, i) => {
      for (let round = 0; round < rounds; round++) {
        await write(`${round}`);
        await receiver.received(round + 1);
        // Around the time at which the wait ends, at another moment for each endpoint.
        await sleep(LINGER_MS - 100 + i * 15);
      }
    }),
  );
  for (const { receivedTexts } of people) expect(receivedTexts()).toEqual(['0', '1', '2']);
});

test('a test and a change of the endpoint reach a lease that waits', async () => {
  const [one, next] = [await subscribe(), await startReceiver()];
  receivers.push(next);
  await one.write('first');
  await one.receiver.received(1);
  const { status, body } = await one.who.call('POST', `${one.path}/test`);
  expect([status, body.data.status]).toEqual([200, 'succeeded']);
  expect((await one.who.call('PATCH', one.path, { url: next.url })).status).toBe(200);
  await one.write('second');
  await next.received(1);
  expect(JSON.parse(next.requests[0]!.body).data.text).toBe('second');
  expect((await one.who.call('PATCH', one.path, { enabled: false })).status).toBe(200);
  await one.write('third');
  await until(async () => (await client.query('select from outbox limit 1')).rowCount === 0);
  expect(one.receiver.requests).toHaveLength(2);
  expect(next.requests).toHaveLength(1);
});

test('a failure ends the wait, and the delivery is retried', async () => {
  const one = await subscribe();
  await one.write('first');
  await one.receiver.received(1);
  one.receiver.answer(500, 204);
  await one.write('second');
  await one.receiver.received(3);
  expect(one.receivedTexts()).toEqual(['first', 'second', 'second']);
});

test('a worker that stops releases its waiting leases and ends their jobs at once', async () => {
  const one = await startTestApp(options, { roles: ['web', 'relay'] });
  const receiver = await startReceiver();
  receivers.push(receiver);
  const who = await one.person('Ben');
  const { body } = await who.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'] });
  const own = new Client({ connectionString: one.env.DATABASE_URL });
  await own.connect();
  onTestFinished(() => own.end());
  const active = `${one.env.REDIS_PREFIX}:{webhooks}:webhooks:active`;
  const isHeld = async () =>
    (await own.query('select from webhook_turns where endpoint_id = $1 and holder is not null', [body.data.id]))
      .rowCount === 1;

  for (let round = 1; round <= 3; round++) {
    const worker = createApp(options, one.env);
    await worker.start({ roles: ['webhook-worker'] });
    await who.call('POST', '/api/notes', { text: `${round}` });
    await receiver.received(round);
    await worker.close();
    expect(await isHeld()).toBe(false);
    expect(await redis.llen(active)).toBe(0);
  }
  expect(receiver.requests).toHaveLength(3);
});

test('leases that wait hold neither the requests nor the jobs of a worker', async () => {
  const few = await startTestApp(
    {
      ...options,
      extensions: [webhooks({ allowPrivate: true, requireHttps: false, concurrency: 1 })],
    },
    { roles: 'all' },
  );
  const receiver = await startReceiver();
  receivers.push(receiver);
  const who = await few.person('Cem');
  const endpoints = 8;
  for (let i = 0; i < endpoints; i++)
    await who.call('POST', '/api/webhooks', { url: `${receiver.url}/${i}`, events: ['note.created'] });
  const active = `${few.env.REDIS_PREFIX}:{webhooks}:webhooks:active`;
  let mostWaiting = 0;
  for (let round = 1; round <= 3; round++) {
    await who.call('POST', '/api/notes', { text: `${round}` });
    await receiver.received(round * endpoints);
    mostWaiting = Math.max(mostWaiting, await redis.llen(active));
  }
  // A worker with one request at a time has two jobs, besides those that wait.
  expect(mostWaiting).toBeGreaterThan(2);
  expect(receiver.inFlight.most).toBe(1);
});
