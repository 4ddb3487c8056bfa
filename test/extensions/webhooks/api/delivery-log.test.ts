import { Client } from 'pg';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { listDeliveriesSql } from '../../../../src/extensions/webhooks/api/delivery-log-sql.ts';
import { isKeptSql } from '../../../../src/extensions/webhooks/deliveries/deliveries-sql.ts';
import { defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../support/app.ts';
import { type PlanNode, rowsRead } from '../../../support/database/query-plan.ts';
import { finishDeliveries, reopenDeliveries } from '../../../support/webhooks/deliveries.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const KEEP_DAYS = 2;
const options = {
  ...{ retrySchedule: [], pollMs: 50, disableAfterFailures: 0, keepDeliveriesDays: KEEP_DAYS },
  // The sweep that deletes old deliveries runs once, when the app starts.
  cleanMs: 3_600_000,
};
const { app, person, env } = await startTestApp(
  { resources: [defineUser(), note], extensions: [webhooks(options)] },
  { roles: 'all' },
);
const [client, other] = [1, 2].map(() => new Client({ connectionString: env.DATABASE_URL })) as [Client, Client];
await Promise.all([client.connect(), other.connect()]);
const opened: Receiver[] = [];
afterAll(async () => {
  await Promise.all([client.end(), other.end()]);
  await Promise.all(opened.map((one) => one.close()));
});
const until = <T>(condition: () => Promise<T>) => vi.waitUntil(condition, { timeout: 60_000, interval: 20 });

interface Delivery {
  id: string;
  messageId: string;
  status: string;
  attempts: number;
  attemptLog: object[];
}
let receiver: Receiver;
let ann: Person;
let endpoint: string;
beforeEach(async () => {
  receiver = await startReceiver();
  opened.push(receiver);
  ann = await person('Ann');
  const { body } = await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'] });
  endpoint = body.data.id;
});
const path = (rest = '') => `/api/webhooks/${endpoint}${rest}`;
const write = async () => (await ann.call('POST', '/api/notes', { text: 'x' })).body.data.id as string;
const list = async (query = '') => {
  const { status, body } = await ann.call('GET', path(`/deliveries${query}`));
  expect(status).toBe(200);
  return body.data as Delivery[];
};
const retry = (id: string) => ann.call('POST', path(`/deliveries/${id}/retry`));
/** Waits until the only delivery of the endpoint meets a condition. */
const delivery = (condition: (one: Delivery) => boolean) =>
  until(async () => {
    const [one, ...more] = await list();
    expect(more).toEqual([]);
    return one !== undefined && condition(one) ? one : undefined;
  });
const isFinished = ({ status }: Delivery) => status === 'succeeded' || status === 'failed';
/** Retries a finished delivery twice. Both requests find it in the log and wait for its row. */
async function retryTwiceAtOnce(id: string) {
  await client.query('begin');
  await client.query('select from webhook_delivery_log where id = $1 for update', [id]);
  const retries = Promise.all([retry(id), retry(id)]);
  const blocked = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await until(async () => (await other.query(blocked)).rowCount === 2);
  await client.query('commit');
  return retries;
}
/** Counts the stored deliveries of the endpoint, waiting and finished. */
async function stored(): Promise<{ waiting: number; finished: number }> {
  const { rows } = await client.query(
    `select (select count(*)::int from webhook_deliveries where endpoint_id = $1) as waiting,
       (select count(*)::int from webhook_delivery_log where endpoint_id = $1) as finished`,
    [endpoint],
  );
  return rows[0];
}

test.each([
  ['succeeded', 204, null],
  ['failed', 500, 'status 500'],
])(
  'a delivery that %s leaves the table of waiting deliveries, and is listed and explained',
  async (status, answer, error) => {
    receiver.answer((_, res) => res.writeHead(answer).end());
    await write();
    const one = await delivery(isFinished);
    expect(await stored()).toEqual({ waiting: 0, finished: 1 });
    const [{ headers, body }] = (await receiver.received(1)) as [(typeof receiver.requests)[number]];
    const attempt = { statusCode: answer, durationMs: expect.any(Number), error };
    const expected = {
      ...{ id: one.id, type: 'note.created', messageId: headers['webhook-id'], status, attempts: 1, ...attempt },
      createdAt: expect.any(String),
      ...{ nextAttemptAt: null, response: '', payload: body, payloadTruncated: false },
      attemptLog: [{ at: expect.any(String), ...attempt }],
    };
    expect(one).toEqual(expected);
    expect(await list(`?status=${status}`)).toEqual([expected]);
    const explained = await ann.call('GET', path(`/explain?event=${one.id}`));
    expect(explained.body.data).toMatchObject({
      reason: 'delivered',
      delivery: { id: one.id, status, attempts: 1, error },
    });
  },
);

test('a finished delivery that is retried waits again, and finishes with one more attempt', async () => {
  receiver.answer(500, 204);
  await write();
  const { id } = await delivery(isFinished);
  const { status, body } = await retry(id);
  expect([status, body.data.id, body.data.status, body.data.attempts]).toEqual([200, id, 'pending', 1]);
  const again = await delivery(({ status, attempts }) => status === 'succeeded' && attempts === 2);
  expect(again.attemptLog).toMatchObject([{ statusCode: 500 }, { statusCode: 204 }]);
  expect(await stored()).toEqual({ waiting: 0, finished: 1 });
  expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual(Array(2).fill(again.messageId));
});

test('two retries of a finished delivery at the same time both respond 200, and it stays a single delivery', async () => {
  await write();
  const { id } = await delivery(isFinished);
  for (const { status, body } of await retryTwiceAtOnce(id)) {
    expect([status, body.data.id, body.data.status]).toEqual([200, id, expect.stringMatching(/^(pending|sending)$/)]);
  }
  const last = await delivery((one) => isFinished(one) && one.attempts > 1);
  expect(receiver.requests).toHaveLength(last.attempts);
  expect(last.attemptLog).toHaveLength(last.attempts);
  expect(await stored()).toEqual({ waiting: 0, finished: 1 });
});

test('a retry of a delivery whose event waits for the endpoint a second time sends that one at once, and the first leaves the log', async () => {
  receiver.answer(500, 204);
  await write();
  const { id } = await delivery(isFinished);
  // A process of an earlier version, which does not know the log, added the second delivery.
  const second = `f${id.slice(1)}`;
  await client.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, subject_id, next_attempt_at)
     select $2, endpoint_id, event_id, message_id || '_2', type, body, subject_id, now() + interval '1 hour'
     from webhook_delivery_log where id = $1`,
    [id, second],
  );
  const { status, body } = await retry(id);
  expect([status, body.data.id, body.data.status, body.data.attempts]).toEqual([200, second, 'pending', 0]);
  expect(await delivery(isFinished)).toMatchObject({ id: second, status: 'succeeded', attempts: 1 });
  expect(await stored()).toEqual({ waiting: 0, finished: 1 });
});

test('a retry finds its delivery, however often other statements move it to and from the log', async () => {
  await write();
  const { id } = await delivery(isFinished);
  let isOver = false;
  const move = async () => {
    while (!isOver) {
      await reopenDeliveries(client, 'id = $1', [id], { next_attempt_at: `now() + interval '1 hour'` });
      await finishDeliveries(client, 'succeeded', 'id = $1', [id]);
    }
  };
  const moving = move();
  const statuses: number[] = [];
  for (let i = 0; i < 25; i++)
    for (const { status } of await Promise.all(Array.from({ length: 16 }, () => retry(id)))) statuses.push(status);
  isOver = true;
  await moving;
  expect(statuses).toEqual(Array(400).fill(200));
  await delivery(isFinished);
});

test('a retry of a delivery that the owner may no longer read fails it, whether it waits or has finished', async () => {
  const bob = await person('Bob');
  const record = await write();
  const { id } = await delivery(isFinished);
  await app.service('note').update(record, { owner: bob.id });
  const refused = { id, status: 'failed', attempts: 1, payload: null, response: null, nextAttemptAt: null };
  const error = "The endpoint's owner may no longer read this record";
  for (const waits of [false, true]) {
    const later = { next_attempt_at: `now() + interval '1 hour'`, error: 'null' };
    if (waits) expect(await reopenDeliveries(client, 'id = $1', [id], later)).toBe(1);
    const { status, body } = await retry(id);
    expect([status, body.data]).toMatchObject([200, { ...refused, error }]);
    expect(await list('?status=failed')).toMatchObject([{ ...refused, error }]);
    expect(await stored()).toEqual({ waiting: 0, finished: 1 });
  }
  expect(receiver.requests).toHaveLength(1);
});

test('two retries of an unreadable delivery at the same time are both refused, and nothing is sent', async () => {
  const record = await write();
  const { id } = await delivery(isFinished);
  await app.service('note').update(record, { owner: (await person('Bob')).id });
  for (const { status, body } of await retryTwiceAtOnce(id)) {
    expect([status, body.data]).toMatchObject([200, { id, status: 'failed', attempts: 1, payload: null }]);
  }
  expect(await list()).toMatchObject([{ id, status: 'failed', attempts: 1 }]);
  expect(await stored()).toEqual({ waiting: 0, finished: 1 });
  expect(receiver.requests).toHaveLength(1);
});

test('the log lists waiting and finished deliveries together, newest first, with any status filter and limit', async () => {
  const total = 60;
  await client.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, position, created_at, next_attempt_at)
     select lpad(to_hex(n), 24, '0'), $1, lpad(to_hex(n), 24, '0'), 'msg_' || n, 'note.created', '{}', n,
       now() - (100 - n) * interval '1 minute', now() + interval '1 day'
     from generate_series(1, $2::int) n`,
    [endpoint, total],
  );
  const statusOf = (n: number) => ['pending', 'succeeded', 'failed', 'sending'][n % 4]!;
  for (const [n, status] of [
    [1, 'succeeded'],
    [2, 'failed'],
  ] as const) {
    // Deliveries of the same status are in different partitions.
    const finished_at = `now() - position % 3 * interval '18 hours'`;
    await finishDeliveries(client, status, 'endpoint_id = $1 and position % 4 = $2', [endpoint, n], { finished_at });
  }
  // Some belong to an expired lease, the others to a lease that holds.
  await client.query(
    `update webhook_deliveries set status = 'sending', lease_until = now() + interval '1 hour' where endpoint_id = $1 and position % 8 = 3`,
    [endpoint],
  );
  await client.query(
    `insert into webhook_turns (endpoint_id, holder, lease_until, sending)
     select $1, 'another', now() + interval '1 hour', jsonb_object_agg(id, attempts) from webhook_deliveries where endpoint_id = $1 and position % 8 = 7`,
    [endpoint],
  );
  const numbers = Array.from({ length: total }, (_, i) => total - i);
  for (const status of [undefined, 'pending', 'sending', 'succeeded', 'failed'])
    for (const limit of [undefined, 1, 7, 100]) {
      const query = Object.entries({ status, limit }).flatMap(([name, value]) => (value ? [`${name}=${value}`] : []));
      const listed = (await list(`?${query.join('&')}`)).map((one) => [Number.parseInt(one.id, 16), one.status]);
      const matching = numbers.filter((n) => status === undefined || statusOf(n) === status);
      expect(listed, query.join('&')).toEqual(matching.slice(0, limit ?? 50).map((n) => [n, statusOf(n)]));
    }
});

test('deliveries older than keepDeliveriesDays are neither listed nor retried, although they are still stored', async () => {
  const [, unreadable] = [await write(), await write()];
  await until(async () => (await list()).filter(isFinished).length === 2);
  // Ids begin with the second of their creation.
  await client.query(
    `update webhook_delivery_log set created_at = created_at - $2::interval, finished_at = finished_at - $2::interval,
       id = to_hex(extract(epoch from created_at - $2::interval)::bigint) || substr(id, 9),
       event_id = to_hex(extract(epoch from created_at - $2::interval)::bigint) || substr(event_id, 9)
     where endpoint_id = $1`,
    [endpoint, `${KEEP_DAYS * 24 - 1} hours`],
  );
  const ids = (await list()).map(({ id }) => id);
  expect(ids).toHaveLength(2);
  await app.service('note').update(unreadable!, { owner: (await person('Bob')).id });
  const age = `update webhook_delivery_log set finished_at = finished_at - interval '1 hour' where endpoint_id = $1`;
  await client.query(age, [endpoint]);
  for (const query of ['', '?status=succeeded', '?status=failed']) expect(await list(query)).toEqual([]);
  for (const id of ids) {
    const { status, body } = await retry(id);
    expect([status, body.error?.code]).toEqual([404, 'NOT_FOUND']);
    expect((await ann.call('GET', path(`/explain?event=${id}`))).status).toBe(404);
  }
  expect(await list()).toEqual([]);
  expect(await stored()).toEqual({ waiting: 0, finished: 2 });
  expect(receiver.requests).toHaveLength(2);
});

test.each(['succeeded', 'failed'] as const)(
  'a list of deliveries that %s does not read the waiting ones',
  async (status) => {
    const waiting = 100_000;
    await client.query(
      `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, next_attempt_at)
     select 'e' || lpad(to_hex(n), 23, '0'), $1, lpad(to_hex(n), 24, '0'), 'msg_' || n, 'note.created', '{}', now() + interval '1 day'
     from generate_series(1, ${waiting}) n`,
      [endpoint],
    );
    const text = listDeliveriesSql({ status }, isKeptSql({ keepDeliveriesDays: KEEP_DAYS }));
    try {
      await client.query('analyze webhook_deliveries');
      const { rows } = await client.query(`explain (analyze, format json) ${text}`, [endpoint, 50]);
      const plan: PlanNode = rows[0]['QUERY PLAN'][0].Plan;
      expect(rowsRead(plan, ['webhook_deliveries'])).toBeLessThan(100);
    } finally {
      await client.query('delete from webhook_deliveries where endpoint_id = $1', [endpoint]);
    }
  },
);
