import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import {
  createLeaseReleaser,
  createLeaseRows,
} from '../../../../../../src/extensions/webhooks/engine/delivery/lease-store.ts';
import { createApp, defineResource, defineUser, f, webhooks } from '../../../../../../src/index.ts';
import { openDatabase } from '../../../../../../src/platform/data/postgres/database.ts';
import { createLogger } from '../../../../../../src/platform/observability/log.ts';
import { type Receiver, startReceiver } from '../../../../../fakes/receiver.ts';
import { createClient, type Person, startTestApp } from '../../../../../support/app.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const CONCURRENCY = 8;
// No schedule and no sweep of this app sends anything here; only jobs do.
const options = {
  retrySchedule: ['1h'],
  pollMs: 3_600_000,
  concurrency: CONCURRENCY,
  timeoutMs: 30_000,
  events: { 'number.drawn': { schema: z.unknown() } },
};
const made = { resources: [defineUser(), note], extensions: [webhooks(options)] } as const;
const { person, env } = await startTestApp(made, { roles: 'all' });
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const opened: { close(): Promise<unknown> }[] = [];
afterAll(async () => {
  await client.end();
  await Promise.all(opened.map((one) => one.close()));
});
const until = (condition: () => unknown) => vi.waitUntil(condition, { timeout: 60_000, interval: 20 });
const isTest = (body: string) => body.includes('webhook.test');

interface Subscriber {
  who: Person;
  receiver: Receiver;
  id: string;
  path: string;
}

async function subscribe(more: object = {}): Promise<Subscriber> {
  const [who, receiver] = [await person('Ann'), await startReceiver()];
  opened.push(receiver);
  const { body } = await who.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'], ...more });
  return { who, receiver, id: body.data.id, path: `/api/webhooks/${body.data.id}` };
}

/** Adds ordinary due deliveries without a job. The next job that serves the endpoint finds them, or a sweep does. */
async function enqueue({ id }: Subscriber, count: number): Promise<void> {
  await client.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, position, next_attempt_at)
     select substr(md5($1 || n), 1, 24), $1, lpad(n::text, 24, '0'), 'msg_' || n, 'number.drawn', n::text, 0, now()
     from generate_series(1, $2::int) n`,
    [id, count],
  );
}
const leaseOf = async ({ id }: Subscriber) =>
  (await client.query('select holder, sending, requested from webhook_turns where endpoint_id = $1', [id])).rows[0];
const numbersOf = ({ receiver }: Subscriber) =>
  receiver.requests.filter(({ body }) => !isTest(body)).map((one) => one.body);

/** Starts an app with a Redis prefix of its own, so that no other app sees its jobs. */
async function startOther(name: string, roles: ('web' | 'relay' | 'webhook-worker')[], more: object = {}) {
  const other = createApp(
    { ...made, extensions: [webhooks({ ...options, ...more })] },
    { ...env, REDIS_PREFIX: `${env.REDIS_PREFIX}-${name}` },
  );
  opened.push({ close: () => other.close() });
  return (await other.start({ port: 0, roles })).url;
}

test('a test overtakes hanging requests while another worker holds the lease, and is sent under that lease', async () => {
  const one = await subscribe();
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  one.receiver.answer(({ body }, res) => (isTest(body) ? res.end() : held.then(() => res.end())));
  await enqueue(one, 3);
  // The sweep of this app finds the endpoint, and its worker holds the lease from then on.
  await startOther('holder', ['relay', 'webhook-worker'], { pollMs: 50 });
  await one.receiver.received(1);
  const { holder } = await leaseOf(one);
  // The worker of the main app gets the job of the test.
  const { body } = await one.who.call('POST', `${one.path}/test`);
  expect(body.data).toMatchObject({ type: 'webhook.test', status: 'succeeded', attempts: 1 });
  expect(await leaseOf(one)).toMatchObject({ holder, requested: [] });
  expect(one.receiver.requests.filter((request) => isTest(request.body))).toHaveLength(1);
  release();
  await until(async () => numbersOf(one).length === 3);
});

test('nothing is sent while another process holds the lease; after it is released, the requested deliveries are sent', async () => {
  const url = await startOther('impatient', ['web'], { timeoutMs: 100 });
  const one = await subscribe();
  await client.query(
    `insert into webhook_turns (endpoint_id, holder, lease_until) values ($1, 'another', now() + interval '1 hour')`,
    [one.id],
  );
  const sendTest = () => createClient(url, one.who.token)('POST', `${one.path}/test`);
  const [first, second] = [await sendTest(), await sendTest()].map(({ body }) => body.data);
  expect([first.status, second.status]).toEqual(['pending', 'pending']);
  expect(await leaseOf(one)).toMatchObject({ holder: 'another', requested: [first.id, second.id] });
  expect(one.receiver.requests).toEqual([]);
  await client.query('update webhook_turns set holder = null, lease_until = null where endpoint_id = $1', [one.id]);
  // A third test, requested from this app, makes its worker acquire the lease.
  const third = (await one.who.call('POST', `${one.path}/test`)).body.data;
  expect(third.status).toBe('succeeded');
  await one.receiver.received(3);
  const ids = one.receiver.requests.map(({ headers }) => headers['webhook-id']);
  expect(ids.sort()).toEqual([first, second, third].map(({ messageId }) => messageId).sort());
});

test('an ordered endpoint keeps its order while tests and retries overtake it', async () => {
  const one = await subscribe({ ordered: true });
  await enqueue(one, 30);
  const { data } = (await one.who.call('POST', `${one.path}/test`)).body;
  const requests = [];
  for (let i = 0; i < 4; i++) {
    requests.push(one.who.call('POST', `${one.path}/test`));
    requests.push(one.who.call('POST', `${one.path}/deliveries/${data.id}/retry`));
  }
  expect((await Promise.all(requests)).map(({ status }) => status)).toEqual(Array(8).fill(200));
  await until(() => numbersOf(one).length === 30);
  expect(numbersOf(one)).toEqual(Array.from({ length: 30 }, (_, i) => String(i + 1)));
});

test('with two workers, many tests and deliveries of an endpoint are each sent once and never exceed its concurrency limit', async () => {
  const second = createApp(made, env);
  opened.push({ close: () => second.close() });
  await second.start({ roles: ['webhook-worker'] });
  const one = await subscribe();
  await enqueue(one, 200);
  const tests = await Promise.all(Array.from({ length: 20 }, () => one.who.call('POST', `${one.path}/test`)));
  expect(tests.map(({ body }) => [body.data.status, body.data.attempts])).toEqual(Array(20).fill(['succeeded', 1]));
  await until(() => numbersOf(one).length === 200);
  expect(new Set(numbersOf(one)).size).toBe(200);
  expect(one.receiver.requests).toHaveLength(220);
  // One worker holds the lease: it uses at most half of its slots, plus the slots reserved for requested deliveries.
  expect(one.receiver.inFlight.most).toBeLessThanOrEqual(CONCURRENCY / 2 + CONCURRENCY / 4);
  await until(async () => (await leaseOf(one)).holder === null);
  expect(await leaseOf(one)).toEqual({ holder: null, sending: {}, requested: [] });
  await second.close();
});

test('a test of an endpoint that is deleted meanwhile is not sent, and the request is deleted with the endpoint', async () => {
  const url = await startOther('hasty', ['web'], { timeoutMs: 100 });
  const one = await subscribe();
  await client.query(
    `insert into webhook_turns (endpoint_id, holder, lease_until) values ($1, 'another', now() + interval '1 hour')`,
    [one.id],
  );
  expect((await createClient(url, one.who.token)('POST', `${one.path}/test`)).body.data.status).toBe('pending');
  await one.who.call('DELETE', one.path);
  await client.query('update webhook_turns set holder = null, lease_until = null where endpoint_id = $1', [one.id]);
  const other = await subscribe();
  expect((await other.who.call('POST', `${other.path}/test`)).body.data).toMatchObject({ status: 'succeeded' });
  expect(one.receiver.requests).toEqual([]);
});

test('releasing a lease reports exactly the endpoints for which deliveries were requested in its last moment', async () => {
  const log = createLogger('silent', 'test');
  const database = openDatabase(env.DATABASE_URL!, 'test', log);
  opened.push(database);
  const [requested, idle, stolen] = [await subscribe(), await subscribe(), await subscribe()];
  await client.query(
    `insert into webhook_turns (endpoint_id, holder, lease_until, requested) values
     ($1, 'a', now() + interval '1 hour', '{d1,d2}'), ($2, 'b', now() + interval '1 hour', '{}'),
     ($3, 'another', now() + interval '1 hour', '{d3}')`,
    [requested.id, idle.id, stolen.id],
  );
  const reported: { id: string; owner: string }[] = [];
  const release = createLeaseReleaser(
    { database, log },
    createLeaseRows(),
    async (endpoints) => void reported.push(...endpoints),
  );
  const holders = [
    [requested, 'a'],
    [idle, 'b'],
    [stolen, 'c'],
  ] as const;
  await Promise.all(
    holders.map(([{ id, who }, holder]) =>
      release({ endpointId: id, owner: who.id, holder, unwritten: new Map(), rate: undefined }),
    ),
  );
  expect(reported).toEqual([{ id: requested.id, owner: requested.who.id }]);
});

test('a test that waits for hanging tests of other endpoints does not delay the ordinary deliveries of its endpoint', async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  // As many as there are slots for requested deliveries.
  const hanging = await Promise.all(Array.from({ length: CONCURRENCY / 4 }, () => subscribe()));
  for (const { receiver } of hanging) receiver.answer((_request, res) => void held.then(() => res.end()));
  let settled = 0;
  const pending = hanging.map(({ who, path }) => who.call('POST', `${path}/test`).finally(() => (settled += 1)));
  await Promise.all(hanging.map(({ receiver }) => receiver.received(1)));
  const one = await subscribe();
  const tested = one.who.call('POST', `${one.path}/test`);
  await until(async () => (await leaseOf(one))?.requested.length === 1);
  // One after the other, for longer than a lease begins requests.
  const startedAt = performance.now();
  for (let count = 1; count <= 3 || performance.now() - startedAt < 6000; count++) {
    await one.who.call('POST', '/api/notes', { text: String(count) });
    await until(() => numbersOf(one).length === count);
  }
  expect(settled).toBe(0);
  release();
  expect((await tested).body.data).toMatchObject({ type: 'webhook.test', status: 'succeeded' });
  await Promise.all(pending);
});
