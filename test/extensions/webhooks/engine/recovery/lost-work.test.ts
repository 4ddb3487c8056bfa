import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { createApp, defineResource, defineUser, f, webhooks } from '../../../../../src/index.ts';
import { startReceiver } from '../../../../fakes/receiver.ts';
import { startTestApp } from '../../../../support/app.ts';
import { ALL_DELIVERIES, reopenDeliveries } from '../../../../support/webhooks/deliveries.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner', create: 'authenticated' },
});
const options = { retrySchedule: [1500], timeoutMs: 120_000, pollMs: 150, cleanMs: 200, keepDeliveriesDays: 1 };
const made = { resources: [defineUser(), note], extensions: [webhooks(options)] } as const;

const { app, person, env } = await startTestApp(made, { roles: 'all' });
const second = createApp(made, env);
await second.start({ roles: ['relay', 'webhook-worker'] });
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const receivers: { close(): Promise<void> }[] = [];
afterAll(async () => {
  await second.close();
  await client.end();
  await Promise.all(receivers.map((one) => one.close()));
});

async function subscriber(name: string) {
  const receiver = await startReceiver();
  receivers.push(receiver);
  const who = await person(name);
  const { body } = await who.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'] });
  return { receiver, who, id: body.data.id as string };
}

const counts = async (endpoint: string) => {
  const { rows } = await client.query(
    `select status, count(*)::int from ${ALL_DELIVERIES} d where endpoint_id = $1 group by 1`,
    [endpoint],
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
};

/** Like `counts`, but unsuccessful deliveries are counted by their error, so that a failed test tells what happened. */
const outcomes = async (endpoint: string) => {
  const { rows } = await client.query(
    `select concat_ws(' ', status, error) as outcome, count(*)::int from ${ALL_DELIVERIES} d where endpoint_id = $1 group by 1`,
    [endpoint],
  );
  return Object.fromEntries(rows.map(({ outcome, count }) => [outcome, count]));
};

const WAIT = { timeout: 120_000, interval: 50 };
const until = (condition: () => Promise<boolean>) => vi.waitUntil(condition, WAIT);

async function loseJobs(): Promise<void> {
  const redis = new Redis(env.REDIS_URL!);
  for await (const keys of redis.scanStream({ match: `${env.REDIS_PREFIX}:*`, count: 1000 })) {
    if (keys.length > 0) await redis.unlink(...keys);
  }
  redis.disconnect();
}

test('many producers and two apps on one database deliver every change exactly once', async () => {
  const people = await Promise.all(Array.from({ length: 6 }, (_, i) => subscriber(`P${i}`)));
  await Promise.all(
    people.flatMap(({ who }) =>
      Array.from({ length: 5 }, async (_, producer) => {
        for (let i = 0; i < 10; i++) {
          const { status } = await who.call('POST', '/api/notes', { text: `${producer}-${i}` });
          expect(status).toBe(201);
        }
      }),
    ),
  );
  for (const { receiver, id } of people) {
    await vi.waitFor(async () => expect(await outcomes(id)).toEqual({ succeeded: 50 }), WAIT);
    expect(receiver.requests).toHaveLength(50);
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(50);
  }
});

test('an event that is handled twice creates one delivery', async () => {
  const { receiver, who, id } = await subscriber('Twice');
  await who.call('POST', '/api/notes', { text: 'once' });
  await receiver.received(1);
  await until(async () => (await counts(id)).succeeded === 1);
  const { rows } = await client.query(
    `select d.event_id, n.id as record_id, to_jsonb(n) as record from ${ALL_DELIVERIES} d, notes n
     where d.endpoint_id = $1 and n.owner = $2`,
    [id, who.id],
  );
  const { event_id, record_id, record } = rows[0];
  for (let i = 0; i < 4; i++) {
    await client.query(
      `insert into outbox (event_id, name, resource, record_id, payload) values ($1, 'note.created', 'note', $2, $3)`,
      [event_id, record_id, { record }],
    );
  }
  await who.call('POST', '/api/notes', { text: 'after' });
  await receiver.received(2);
  await until(async () => (await client.query('select from outbox')).rowCount === 0);
  await until(async () => (await counts(id)).succeeded === 2);
  expect(await counts(id)).toEqual({ succeeded: 2 });
});

test('the sweep adds jobs again that were lost from Redis, both waiting and delayed ones', async () => {
  const { receiver, who, id } = await subscriber('Lost');
  receiver.answer(500, 500, 500, 204);
  await Promise.all(['a', 'b', 'c'].map((text) => who.call('POST', '/api/notes', { text })));
  const countAttempted = `select count(*)::int n from ${ALL_DELIVERIES} d where endpoint_id = $1 and attempts > 0`;
  await until(async () => (await client.query<{ n: number }>(countAttempted, [id])).rows[0]!.n === 3);
  await loseJobs();
  await receiver.received(6);
  await until(async () => (await counts(id)).succeeded === 3);
  await loseJobs();
  await who.call('POST', '/api/notes', { text: 'after' });
  await receiver.received(7);
});

test('a delivery whose worker died is sent again; the lost attempt counts and is in the log', async () => {
  const { receiver, who, id } = await subscriber('Died');
  await who.call('POST', '/api/notes', { text: 'x' });
  await receiver.received(1);
  await until(async () => (await counts(id)).succeeded === 1);
  const claimed = (scheduleAttempts: number) =>
    reopenDeliveries(client, 'endpoint_id = $1', [id], {
      status: `'sending'`,
      attempt_log: `'[]'`,
      attempts: String(scheduleAttempts),
      schedule_attempts: String(scheduleAttempts),
      lease_until: `now() - interval '1 second'`,
    });
  await claimed(1);
  await receiver.received(2);
  await until(async () => (await counts(id)).succeeded === 1);
  const log = async () => (await who.call('GET', `/api/webhooks/${id}/deliveries`)).body.data;
  expect(await log()).toMatchObject([
    { attempts: 2, attemptLog: [{ at: expect.stringMatching(/Z$/), error: 'worker lost' }, { statusCode: 204 }] },
  ]);
  await claimed(2);
  await until(async () => (await counts(id)).failed === 1);
  expect(await log()).toMatchObject([{ status: 'failed', attempts: 2, error: 'worker lost', nextAttemptAt: null }]);
  expect(receiver.requests[1]!.headers['webhook-id']).toBe(receiver.requests[0]!.headers['webhook-id']);
});

test('finished deliveries are removed after the retention time, and the log of a deleted endpoint at once', async () => {
  const { receiver, who, id } = await subscriber('Old');
  for (const text of ['old', 'young']) await who.call('POST', '/api/notes', { text });
  await receiver.received(2);
  await until(async () => (await counts(id)).succeeded === 2);
  await client.query(
    `update webhook_delivery_log set id = $2, finished_at = now() - interval '25 hours' where endpoint_id = $1 and body like '%old%'`,
    [id, '0'.repeat(24)],
  );
  await until(async () => (await counts(id)).succeeded === 1);
  expect((await who.call('DELETE', `/api/webhooks/${id}`)).status).toBe(204);
  expect(await counts(id)).toEqual({});
  const { rows } = await client.query('select secret from webhook_endpoints where id = $1', [id]);
  expect(rows).toEqual([{ secret: '' }]);
});

test('endpoints and logs of a deleted user are removed', async () => {
  const { receiver, who, id } = await subscriber('Leaver');
  await who.call('POST', '/api/notes', { text: 'x' });
  await receiver.received(1);
  await app.service('user').delete(who.id);
  await until(async () => Object.keys(await counts(id)).length === 0);
});

test('the log of a deleted user is removed within a minute, however long it is', async () => {
  const rare = await startTestApp(
    {
      resources: [defineUser(), note],
      extensions: [webhooks()],
    },
    { roles: 'all' },
  );
  const { id: userId, call } = await rare.person('Long');
  const made = await call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events: ['note.created'] });
  const other = new Client({ connectionString: rare.env.DATABASE_URL });
  await other.connect();
  const { id } = made.body.data;
  await other.query(
    `insert into webhook_delivery_log (id, endpoint_id, event_id, message_id, type, body, status, finished_at)
     select lpad(n::text, 24, '0'), $1, n::text, 'msg_' || n, 'note.created', '{}', 'succeeded', now() from generate_series(1, 5000) n`,
    [id],
  );
  await rare.app.service('user').delete(userId);
  const left = async () => (await other.query(`select from ${ALL_DELIVERIES} d where endpoint_id = $1`, [id])).rowCount;
  await vi.waitUntil(async () => (await left()) === 0, { timeout: 60_000, interval: 100 });
  await other.end();
});

test('a receiver that hangs does not delay others', async () => {
  const hanging = await subscriber('Hanging');
  const well = await subscriber('Well');
  const held = Promise.withResolvers<void>();
  hanging.receiver.answer(async (_, res) => {
    await held.promise;
    res.writeHead(204).end();
  });
  await Promise.all(Array.from({ length: 60 }, (_, i) => hanging.who.call('POST', '/api/notes', { text: `h${i}` })));
  await hanging.receiver.received(1);
  for (let i = 1; i <= 20; i++) {
    await well.who.call('POST', '/api/notes', { text: `w${i}` });
    await well.receiver.received(i);
  }
  const { inFlight, requests } = hanging.receiver;
  // No request has ended, so none has given its slot to the other receiver.
  expect(inFlight.now).toBe(requests.length);
  // Two apps with ten slots each: the slow lane has half of the slots, and one endpoint half of that.
  expect(inFlight.most).toBeLessThanOrEqual(6);
  held.resolve();
  await until(async () => (await counts(hanging.id)).succeeded === 60);
});
