import { Client } from 'pg';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import type { WebhooksApi } from '../../../../src/extensions/webhooks/index.ts';
import { defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { type Person, startTestApp } from '../../../support/app.ts';

const note = defineResource('note', { fields: { text: f.text(), owner: f.ref('user').owner() } });
const { env, person, app } = await startTestApp(
  {
    resources: [defineUser(), note],
    extensions: [webhooks({ pollMs: 100, cleanMs: 100, keepDeliveriesDays: 1, disableAfterFailures: 1 })],
  },
  { roles: 'all' },
);
const database = new Client({ connectionString: env.DATABASE_URL });
await database.connect();
afterAll(() => database.end());

let ann: Person;
let id: string;
beforeEach(async () => {
  ann = await person('Ann');
  id = (await ann.call('POST', '/api/webhooks', { delivery: 'poll', events: ['note.created'] })).body.data.id;
});

/** Inserts a delivery that waits since some days. @param idAge days since its creation */
const insert = (status: string, days: number, idAge = days) =>
  database.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, position, message_id, type, body, status, next_attempt_at, mentions)
     select x.id, $1, x.id, 1, 'msg_' || x.id, 'webhook.test', '{"type":"webhook.test","data":{}}', $2, now() - $3::float8 * interval '1 day', '{}'
     from (select to_hex((extract(epoch from now()) - $4::float8 * 86400)::int) || lpad(to_hex((random() * 1e9)::int), 16, '0') as id) x`,
    [id, status, days, idAge],
  );
const log = async (query = '') => (await ann.call('GET', `/api/webhooks/${id}/deliveries${query}`)).body.data;
const readQueue = () => (app as unknown as { webhooks: WebhooksApi }).webhooks.queue();
const WAIT = { timeout: 60_000, interval: 50 };

test('messages that nobody acknowledges fail after as long as finished ones are kept, without counting as failures of the endpoint', async () => {
  await insert('waiting', 2);
  await insert('waiting', 0.5);
  await vi.waitUntil(async () => (await log('?status=failed')).length === 1, WAIT);
  expect(await log('?status=failed')).toEqual([
    expect.objectContaining({ error: 'not acknowledged in time', attempts: 1, statusCode: null }),
  ]);
  expect(await log('?status=pending')).toHaveLength(1);
  const { body } = await ann.call('GET', `/api/webhooks/${id}`);
  expect(body.data).toMatchObject({ status: 'active', enabled: true, consecutiveFailures: 0, waiting: 1 });
});

test('an old message that waits again is kept from then on', async () => {
  await insert('waiting', 0, 3);
  await insert('waiting', 2);
  await vi.waitUntil(async () => (await log('?status=failed')).length === 1, WAIT);
  expect(await log('?status=pending')).toHaveLength(1);
});

test('deliveries that a relay of an earlier version has left to the workers are polled, too', async () => {
  await insert('pending', 0);
  await vi.waitUntil(async () => (await ann.call('GET', `/api/webhooks/${id}/poll`)).body.data.length === 1, WAIT);
  expect(await log()).toEqual([expect.objectContaining({ status: 'pending', attempts: 0 })]);
});

test('messages that wait to be polled are no backlog of the workers', async () => {
  const before = await readQueue();
  await insert('waiting', 0.1);
  expect(await readQueue()).toEqual(before);
});

test('a removed endpoint takes its messages with it', async () => {
  await insert('waiting', 0.1);
  await ann.call('DELETE', `/api/webhooks/${id}`);
  await vi.waitUntil(async () => {
    const { rows } = await database.query('select from webhook_deliveries where endpoint_id = $1', [id]);
    return rows.length === 0;
  }, WAIT);
});
