import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { createApp, defineResource, defineUser, f, webhooks } from '../../../../../../src/index.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../../../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../../../support/app.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const retrySchedule = [20, 20, 20];
const options = { retrySchedule, timeoutMs: 2000, pollMs: 100, disableAfterFailures: 0, maxEndpointsPerUser: 5 };
const made = { resources: [defineUser(), note], extensions: [webhooks(options)] } as const;
const { person, env } = await startTestApp(made, { roles: 'all' });
const others = [createApp(made, env), createApp(made, env)];
await Promise.all(others.map((app) => app.start({ roles: ['relay', 'webhook-worker'] })));
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const opened: Receiver[] = [];
afterAll(async () => {
  await Promise.all(others.map((app) => app.close()));
  await client.end();
  await Promise.all(opened.map((one) => one.close()));
});

interface Subscriber {
  who: Person;
  receiver: Receiver;
  id: string;
}

async function subscribe(name: string, pace: object, who?: Person): Promise<Subscriber> {
  const owner = who ?? (await person(name));
  const receiver = await startReceiver();
  opened.push(receiver);
  const { status, body } = await owner.call('POST', '/api/webhooks', {
    url: receiver.url,
    events: ['note.created'],
    ...pace,
  });
  expect([status, body.data]).toMatchObject([201, pace]);
  return { who: owner, receiver, id: body.data.id };
}

const until = (condition: () => unknown) => vi.waitUntil(condition, { timeout: 60_000, interval: 100 });
const write = async ({ who }: Subscriber, text: string) => {
  expect((await who.call('POST', '/api/notes', { text })).status).toBe(201);
};
async function writeAll(subscriber: Subscriber, texts: readonly string[]): Promise<void> {
  for (const text of texts) await write(subscriber, text);
}
const log = async ({ who, id }: Subscriber) =>
  (await who.call('GET', `/api/webhooks/${id}/deliveries?limit=100`)).body.data as {
    status: string;
    attempts: number;
    attemptLog: { error: string | null }[];
  }[];
const textOf = ({ body }: ReceivedRequest): string => JSON.parse(body).data.text;
const names = (count: number) => Array.from({ length: count }, (_, i) => `n${i}`);
const isOver = ({ status }: { status: string }) => status === 'succeeded' || status === 'failed';
const over = (subscriber: Subscriber, count: number) =>
  until(async () => (await log(subscriber)).filter(isOver).length === count);

test('with three workers, an ordered endpoint gets the first success of each event in the order of the events, whatever fails', async () => {
  const one = await subscribe('Ordered', { ordered: true });
  const texts = names(60);
  const succeeded: string[] = [];
  let seed = 7;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  one.receiver.answer(async (request, res) => {
    const chance = random();
    if (chance < 0.2) res.writeHead(500).end();
    else if (chance < 0.25) res.destroy();
    else {
      succeeded.push(textOf(request));
      if (chance < 0.5) await sleep(5);
      res.writeHead(204).end();
    }
  });
  await Promise.all([writeAll(one, texts)]);
  await over(one, texts.length);
  expect([...new Set(succeeded)]).toEqual(texts.filter((text) => succeeded.includes(text)));
  // Any delivery that was skipped must have failed on every attempt.
  expect((await log(one)).every(({ status, attempts }) => status === 'succeeded' || attempts === 4)).toBe(true);
  expect(one.receiver.inFlight.most).toBe(1);
});

test('a delivery that keeps failing blocks an ordered endpoint until its schedule is used up, and no longer', async () => {
  const one = await subscribe('Stubborn', { ordered: true });
  one.receiver.answer((request, res) => void res.writeHead(textOf(request) === 'n1' ? 500 : 204).end());
  await writeAll(one, names(4));
  await over(one, 4);
  expect(one.receiver.requests.map(textOf)).toEqual(['n0', 'n1', 'n1', 'n1', 'n1', 'n2', 'n3']);
});

test('an ordered endpoint whose worker dies continues with the interrupted delivery', async () => {
  const one = await subscribe('Died', { ordered: true });
  await write(one, 'before');
  await over(one, 1);
  const hold = `update webhook_turns set holder = 'dead', lease_until = now() + interval '1 hour' where endpoint_id = $1 and holder is null`;
  await until(async () => (await client.query(hold, [one.id])).rowCount === 1);
  await writeAll(one, names(3));
  await until(async () => (await log(one)).length === 4);
  // The worker died while it was sending the first delivery.
  await client.query(
    `update webhook_turns set lease_until = now() - make_interval(secs => 1), sending = jsonb_build_object((
       select id from webhook_deliveries where endpoint_id = $1 and status = 'pending' order by position limit 1), 0)
     where endpoint_id = $1`,
    [one.id],
  );
  // The interrupted delivery blocks the endpoint until its lease expires.
  const end = `update webhook_deliveries set lease_until = now() - make_interval(secs => 1) where endpoint_id = $1 and status = 'sending'`;
  await until(async () => (await client.query(end, [one.id])).rowCount === 1);
  await over(one, 4);
  expect(one.receiver.requests.map(textOf)).toEqual(['before', 'n0', 'n1', 'n2']);
  expect((await log(one))[2]!.attemptLog.map(({ error }) => error)).toEqual(['worker lost', null]);
});

test('an ordered endpoint waits for earlier events that the relay has not handled; other endpoints do not', async () => {
  const one = await subscribe('Waiting', { ordered: true });
  const free = await subscribe('', {}, one.who);
  const { rows } = await client.query(
    `insert into outbox (event_id, name, resource, record_id, payload, available_at)
     values ('early', 'note.deleted', 'note', '${'0'.repeat(24)}', '{"record":{}}', now() + interval '1 hour') returning id`,
  );
  await write(one, 'later');
  await free.receiver.received(1);
  await until(async () => (await log(one)).length === 1);
  expect(one.receiver.requests).toHaveLength(0);
  await client.query('delete from outbox where id = $1', [rows[0].id]);
  await one.receiver.received(1, 30_000);
});

test('deliveries over the rate limit of an endpoint wait in all workers and use up no attempt', async () => {
  const one = await subscribe('Limited', { rateLimit: { limit: 5, windowSeconds: 3600 } });
  await writeAll(one, names(6));
  await one.receiver.received(5);
  await writeAll(one, names(6));
  await until(async () => (await log(one)).length === 12);
  // Every worker has checked the endpoint since then.
  const turns = async () =>
    (await client.query('select xmin from webhook_turns where endpoint_id = $1', [one.id])).rows[0].xmin;
  for (let i = 0; i < 5; i++) {
    const before = await turns();
    await until(async () => (await turns()) !== before);
  }
  expect(one.receiver.requests).toHaveLength(5);
  // While a worker checks the endpoint, the deliveries are claimed by it.
  await until(async () => (await log(one)).filter((it) => it.status === 'pending' && it.attempts === 0).length === 7);
  const path = `/api/webhooks/${one.id}`;
  expect((await one.who.call('PATCH', path, { rateLimit: { limit: 8, windowSeconds: 3600 } })).status).toBe(200);
  await one.receiver.received(8);
  expect((await one.who.call('PATCH', path, { rateLimit: null })).body.data.rateLimit).toBeNull();
  await over(one, 12);
  expect(one.receiver.requests).toHaveLength(12);
});

test('a rate-limited endpoint continues by itself once its window allows it', async () => {
  const one = await subscribe('Slowly', { rateLimit: { limit: 2, windowSeconds: 1 }, ordered: true });
  await writeAll(one, names(5));
  await over(one, 5);
  expect(one.receiver.requests.map(textOf)).toEqual(names(5));
});

test.each([
  [{ ordered: 'yes' }, { ordered: 'Must be true or false' }],
  [{ rateLimit: 5 }, { rateLimit: 'Must be { limit, windowSeconds }' }],
  [{ rateLimit: {} }, { 'rateLimit.limit': 'Must be a whole number from 1 to 10000' }],
  [{ rateLimit: { limit: 0 } }, { 'rateLimit.limit': 'Must be a whole number from 1 to 10000' }],
  [
    { rateLimit: { limit: 1, windowSeconds: 0.5 } },
    { 'rateLimit.windowSeconds': 'Must be a whole number from 1 to 3600' },
  ],
])('%j is refused with an error that names the field', async (pace, details) => {
  const who = await person('Wrong');
  const { body: created } = await who.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events: ['*'] });
  expect(created.data).toMatchObject({ ordered: false, rateLimit: null });
  for (const [method, path, more] of [
    ['POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events: ['*'] }],
    ['PATCH', `/api/webhooks/${created.data.id}`, {}],
  ] as const) {
    const { status, body } = await who.call(method, path, { ...more, ...pace });
    expect([status, body.error.details]).toEqual([422, details]);
  }
});
