import { Client } from 'pg';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { earliestFinishSql } from '../../../../../src/extensions/webhooks/deliveries/deliveries-sql.ts';
import { INSERT_DELIVERIES } from '../../../../../src/extensions/webhooks/engine/fanout/insert-deliveries-sql.ts';
import { defineUser, webhooks } from '../../../../../src/index.ts';
import { newId } from '../../../../../src/platform/helpers/ids.ts';
import { type Receiver, startReceiver } from '../../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../../support/app.ts';
import { ALL_DELIVERIES, finishDeliveries } from '../../../../support/webhooks/deliveries.ts';

const options = { pollMs: 50, maxEndpointsPerUser: 3, events: { 'number.drawn': { schema: z.unknown() } } };
const { person, env } = await startTestApp(
  { resources: [defineUser()], extensions: [webhooks(options)] },
  { roles: 'all' },
);
const CONNECTIONS = 6;
const clients = Array.from({ length: CONNECTIONS }, () => new Client({ connectionString: env.DATABASE_URL }));
await Promise.all(clients.map((one) => one.connect()));
const client = clients[0]!;
const opened: Receiver[] = [];
afterAll(async () => {
  await Promise.all(clients.map((one) => one.end()));
  await Promise.all(opened.map((one) => one.close()));
});
const until = (condition: () => unknown) => vi.waitUntil(condition, { timeout: 60_000, interval: 20 });

let receiver: Receiver;
let ann: Person;
beforeEach(async () => {
  receiver = await startReceiver();
  opened.push(receiver);
  ann = await person('Ann');
});
async function subscribe(more: object = {}): Promise<string> {
  const input = { url: receiver.url, events: ['number.drawn'], ...more };
  return (await ann.call('POST', '/api/webhooks', input)).body.data.id;
}

/** Inserts a delivery of each event to each endpoint, as a fan-out does. Returns the number of new deliveries. */
async function insert(one: Client, endpoints: readonly string[], events: readonly string[]): Promise<number> {
  const rows = endpoints.flatMap((endpointId) => events.map((eventId) => ({ endpointId, eventId })));
  const column = (value: (row: (typeof rows)[number]) => unknown) => rows.map(value);
  const { rowCount } = await one.query(INSERT_DELIVERIES, [
    ...[column(() => newId()), column(({ endpointId }) => endpointId), column(({ eventId }) => eventId)],
    ...[column(() => `msg_${newId()}`), column(() => 'number.drawn'), column(() => '{}'), column(() => null)],
    ...[column((_) => 0), column(() => null), column(() => null), column(() => '{}')],
    earliestFinishSql(events),
  ]);
  return rowCount ?? 0;
}
/** Counts the stored deliveries to endpoints, waiting and finished. */
async function stored(endpoints: readonly string[]): Promise<{ all: number; distinct: number }> {
  const { rows } = await client.query(
    `select count(*)::int as all, count(distinct (endpoint_id, event_id))::int as distinct from ${ALL_DELIVERIES} d
     where endpoint_id = any($1)`,
    [endpoints],
  );
  return rows[0];
}
const sum = (counts: readonly number[]) => counts.reduce((all, one) => all + one, 0);

test('events that several connections insert at the same time get one delivery per endpoint, also after it has finished', async () => {
  const endpoints = await Promise.all([1, 2, 3].map(() => subscribe()));
  const events = Array.from({ length: 20 }, () => newId());
  // No worker may send, so that the test decides when deliveries finish.
  await client.query(
    `insert into webhook_turns (endpoint_id, holder, lease_until) select unnest($1::text[]), 'another', now() + interval '1 hour'`,
    [endpoints],
  );
  const insertEverywhere = () => Promise.all(clients.map((one) => insert(one, endpoints, events)));
  const once = { all: 60, distinct: 60 };
  expect(sum(await insertEverywhere())).toBe(60);
  expect(await stored(endpoints)).toEqual(once);
  expect(
    await finishDeliveries(client, 'succeeded', 'endpoint_id = any($1) and event_id = any($2)', [
      endpoints,
      events.slice(0, 10),
    ]),
  ).toBe(30);
  expect(sum(await insertEverywhere())).toBe(0);
  expect(await finishDeliveries(client, 'failed', 'endpoint_id = any($1)', [endpoints])).toBe(30);
  expect(sum(await insertEverywhere())).toBe(0);
  expect(await stored(endpoints)).toEqual(once);
});

test.each([
  ['an ordered', true],
  ['an unordered', false],
])(
  'a delivery of %s endpoint is sent even if it commits after claims have advanced past its due time',
  async (_, ordered) => {
    const id = await subscribe({ ordered });
    // As if claims had advanced `due_from` before the commit.
    await client.query('begin');
    await insert(client, [id], [newId()]);
    await client.query(
      `update webhook_deliveries set next_attempt_at = now() - interval '1 hour' where endpoint_id = $1`,
      [id],
    );
    await client.query(`insert into webhook_turns (endpoint_id, due_from) values ($1, now() - interval '1 minute')`, [
      id,
    ]);
    await client.query('commit');
    await receiver.received(1);
    await until(
      async () => (await ann.call('GET', `/api/webhooks/${id}/deliveries`)).body.data[0].status === 'succeeded',
    );
    expect(receiver.requests).toHaveLength(1);
  },
);

test('an ordered endpoint gets its deliveries in order even if an earlier one commits after claims have advanced past its due time', async () => {
  const id = await subscribe({ ordered: true });
  const events = [newId(), newId()];
  await client.query('begin');
  await insert(client, [id], events);
  await client.query(
    `update webhook_deliveries set next_attempt_at = now() - interval '1 hour' where endpoint_id = $1 and event_id = $2`,
    [id, events[0]],
  );
  await client.query(`insert into webhook_turns (endpoint_id, due_from) values ($1, now() - interval '1 minute')`, [
    id,
  ]);
  const { rows } = await client.query(
    'select message_id from webhook_deliveries where endpoint_id = $1 order by event_id',
    [id],
  );
  await client.query('commit');
  await receiver.received(2);
  expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual(
    rows.map(({ message_id }) => message_id),
  );
});
