import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { defineResource, defineUser, f, verifyWebhook, webhooks } from '../../../../../../src/index.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../../../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../../../support/app.ts';
import { ALL_DELIVERIES } from '../../../../../support/webhooks/deliveries.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const { app, person, env } = await startTestApp(
  {
    resources: [defineUser(), note],
    extensions: [webhooks({ pollMs: 50, retrySchedule: [50], events: { 'number.drawn': { schema: z.unknown() } } })],
  },
  { roles: 'all' },
);
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const opened: Receiver[] = [];
afterAll(async () => {
  await client.end();
  await Promise.all(opened.map((one) => one.close()));
});
const until = (condition: () => unknown) => vi.waitUntil(condition, { timeout: 60_000, interval: 20 });

async function receive(): Promise<Receiver> {
  const receiver = await startReceiver();
  opened.push(receiver);
  return receiver;
}

interface Subscriber {
  who: Person;
  receiver: Receiver;
  id: string;
  path: string;
  secret: string;
}

async function subscribe(more: object = {}, roles?: string[]): Promise<Subscriber> {
  const [who, receiver] = [await person('Ann', roles), await receive()];
  const input = { url: receiver.url, events: ['note.created'], ...more };
  const { body } = await who.call('POST', '/api/webhooks', input);
  return { who, receiver, id: body.data.id, path: `/api/webhooks/${body.data.id}`, secret: body.data.secret };
}

/** Adds due deliveries; by default as many as one claim takes. */
async function enqueue({ id }: Subscriber, count = 40): Promise<void> {
  await client.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, position, next_attempt_at)
     select substr(md5($1 || n), 1, 24), $1, lpad(n::text, 24, '0'), 'msg_' || n, 'number.drawn', n::text, 0, now()
     from generate_series(1, $2::int) n`,
    [id, count],
  );
}
const counts = async ({ id }: Subscriber) => {
  const { rows } = await client.query(
    `select status, count(*)::int from ${ALL_DELIVERIES} d where endpoint_id = $1 group by 1`,
    [id],
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
};
const leaseIsReleased = async ({ id }: Subscriber) =>
  (await client.query('select from webhook_turns where endpoint_id = $1 and holder is null', [id])).rowCount === 1;

/**
 * Creates an endpoint with a slow receiver and forty deliveries that are claimed together, and waits until two have arrived.
 *
 * @param changed the receiver responds to no request but the first before this resolves
 */
async function inMidLease(more: object = {}, roles?: string[], changed?: Promise<void>): Promise<Subscriber> {
  const one = await subscribe({ ordered: true, ...more }, roles);
  one.receiver.answer(204, async (_, res) => {
    await changed;
    await sleep(250);
    res.writeHead(204).end();
  });
  await enqueue(one);
  await one.receiver.received(2);
  return one;
}

// Without renewing the lease some twenty would be sent, since requests of a lease start within 5 s.
const FEW = 12;

test.each([
  ['disabled', (one: Subscriber) => one.who.call('PATCH', one.path, { enabled: false }), 40],
  ['deleted', (one: Subscriber) => one.who.call('DELETE', one.path), 0],
  ['whose owner is disabled', (one: Subscriber) => app.service('user').update(one.who.id, { status: 'disabled' }), 40],
  ['whose owner is deleted', (one: Subscriber) => app.service('user').delete(one.who.id), 0],
])('an endpoint %s in the middle of a lease gets few of the claimed deliveries', async (_, change, kept) => {
  const one = await inMidLease();
  await change(one);
  await until(() => leaseIsReleased(one));
  expect(one.receiver.requests.length).toBeLessThan(FEW);
  const { pending = 0, succeeded = 0 } = await counts(one);
  expect(pending + succeeded).toBe(kept);
});

test('a global endpoint whose owner loses the role in the middle of a lease gets few of the claimed deliveries', async () => {
  const one = await inMidLease({ scope: 'global' }, ['user', 'admin']);
  await app.service('user').update(one.who.id, { roles: ['user'] });
  await until(() => leaseIsReleased(one));
  expect(one.receiver.requests.length).toBeLessThan(FEW);
  const { pending = 0, succeeded = 0 } = await counts(one);
  expect(pending + succeeded).toBe(40);
});

test('a retry of a global endpoint waits while its owner lacks the role; then it has the same id and a new timestamp', async () => {
  const one = await subscribe({ scope: 'global' }, ['user', 'admin']);
  one.receiver.answer(async (_, res) => {
    await app.service('user').update(one.who.id, { roles: ['user'] });
    res.writeHead(500).end();
  }, 204);
  await enqueue(one, 1);
  await one.receiver.received(1);
  const late = `select from webhook_deliveries where endpoint_id = $1 and status = 'pending' and next_attempt_at < now() - interval '1 second'`;
  await until(async () => (await client.query(late, [one.id])).rowCount === 1);
  expect(one.receiver.requests).toHaveLength(1);
  await app.service('user').update(one.who.id, { roles: ['user', 'admin'] });
  await until(async () => (await counts(one)).succeeded === 1);
  // Each attempt has a signature of its own.
  const [first, second] = one.receiver.requests as [ReceivedRequest, ReceivedRequest];
  expect(second.headers['webhook-id']).toBe(first.headers['webhook-id']);
  expect(Number(second.headers['webhook-timestamp'])).toBeGreaterThan(Number(first.headers['webhook-timestamp']));
  expect(verifyWebhook(one.secret, second.headers, second.body)).toBe(1);
});

test('an endpoint that gets a new URL and secret in the middle of a lease receives the rest there, in order, signed with both secrets', async () => {
  // A request stays in flight between the two changes. Otherwise a lease could end there, and the next one send with the old secret.
  const changed = Promise.withResolvers<void>();
  const one = await inMidLease({}, undefined, changed.promise);
  const next = await receive();
  expect((await one.who.call('PATCH', one.path, { url: next.url })).status).toBe(200);
  const { secret } = (await one.who.call('POST', `${one.path}/rotate-secret`)).body.data;
  changed.resolve();
  await next.received(40 - FEW, 60_000);
  await until(async () => (await counts(one)).succeeded === 40);
  expect(one.receiver.requests.length).toBeLessThan(FEW);
  expect([...one.receiver.requests, ...next.requests].map(({ body }) => Number(body))).toEqual(
    Array.from({ length: 40 }, (_, i) => i + 1),
  );
  for (const { headers, body } of next.requests)
    for (const either of [secret, one.secret]) expect(verifyWebhook(either, headers, body)).toBe(Number(body));
});

/** Creates an endpoint with a request in flight and an expired lease, as if its worker had died. */
async function takenForDead(more: object = {}) {
  const one = await subscribe(more);
  let release: () => void = () => undefined;
  one.receiver.answer((_, res) => {
    return new Promise<void>((resolve) => {
      release = () => resolve(void res.writeHead(204).end());
    });
  }, 204);
  await enqueue(one, 1);
  await one.receiver.received(1);
  await until(async () => {
    await client.query(`update webhook_turns set lease_until = now() - interval '1 second' where endpoint_id = $1`, [
      one.id,
    ]);
    return (await counts(one)).sending === 1;
  });
  // Remove the jobs, as if another process had taken over those of a dead worker.
  const redis = new Redis(env.REDIS_URL!);
  await redis.unlink(...(await redis.keys(`${env.REDIS_PREFIX}:{webhooks*`)));
  redis.disconnect();
  return { ...one, release: () => release() };
}

test('an endpoint continues while the request of an expired lease is in flight, and that request still records its own result', async () => {
  const one = await takenForDead();
  await one.who.call('POST', '/api/notes', { text: 'next' });
  await one.receiver.received(2);
  expect(await counts(one)).toMatchObject({ sending: 1 });
  one.release();
  await until(async () => (await counts(one)).succeeded === 2);
  const { body } = await one.who.call('GET', `${one.path}/deliveries`);
  const logged = body.data.map(({ attempts, attemptLog }: { attempts: number; attemptLog: object[] }) => [
    attempts,
    attemptLog.length,
  ]);
  expect(logged).toEqual([
    [1, 1],
    [1, 1],
  ]);
  expect(one.receiver.requests).toHaveLength(2);
});

test('an ordered endpoint does not continue while the request of an expired lease is in flight', async () => {
  const one = await takenForDead({ ordered: true });
  await one.who.call('POST', '/api/notes', { text: 'next' });
  await until(async () => (await counts(one)).pending === 1);
  // Workers check the endpoint repeatedly.
  await until(
    async () =>
      (
        await client.query(
          'select now() - next_attempt_at > $2::interval as late from webhook_deliveries where endpoint_id = $1 and status = $3',
          [one.id, '1 second', 'pending'],
        )
      ).rows[0].late,
  );
  expect(one.receiver.requests).toHaveLength(1);
  one.release();
  await one.receiver.received(2);
  await until(async () => (await counts(one)).succeeded === 2);
});

test('a long lease is renewed', async () => {
  const one = await subscribe();
  one.receiver.answer(() => new Promise(() => undefined));
  await enqueue(one, 1);
  await one.receiver.received(1);
  const lease = async () =>
    (
      await client.query('select holder, lease_until::text as until from webhook_turns where endpoint_id = $1', [
        one.id,
      ])
    ).rows[0];
  const before = await lease();
  let after = before;
  await until(async () => {
    after = await lease();
    return after.until !== before.until;
  });
  expect(after.holder).toBe(before.holder);
  expect(after.until > before.until).toBe(true);
});
