import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { defineResource, defineUser, f, webhooks } from '../../../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../../../support/app.ts';
import { ALL_DELIVERIES, reopenDeliveries } from '../../../../../support/webhooks/deliveries.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const timeoutMs = 2000;
const options = { retrySchedule: [1], timeoutMs, pollMs: 50, cleanMs: 100, maxEndpointsPerUser: 5 };
const { app, person, env } = await startTestApp(
  { resources: [defineUser(), note], extensions: [webhooks(options)] },
  { roles: 'all' },
);
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const opened: { close(): Promise<unknown> }[] = [];
afterAll(async () => {
  await client.end();
  await Promise.all(opened.map((one) => one.close()));
});

async function receive(): Promise<Receiver> {
  const receiver = await startReceiver();
  opened.push(receiver);
  return receiver;
}
async function subscribe(who: Person): Promise<Receiver & { id: string }> {
  const receiver = await receive();
  const { body } = await who.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'] });
  return Object.assign(receiver, { id: body.data.id as string });
}
const until = (condition: () => unknown) => vi.waitUntil(condition, { timeout: 60_000, interval: 20 });
const log = async (who: Person, id: string) =>
  (await who.call('GET', `/api/webhooks/${id}/deliveries?limit=100`)).body.data;
const isDone = ({ status }: { status: string }) => status === 'succeeded' || status === 'failed';
const ids = ({ requests }: Receiver) => requests.map(({ headers }) => headers['webhook-id']);

test('if one of three endpoints fails, the others are each served once without delay, and only the failed one is retried', async () => {
  const who = await person('Three');
  const [first, failing, third] = [await subscribe(who), await subscribe(who), await subscribe(who)];
  failing.answer(500);
  await who.call('POST', '/api/notes', { text: 'x' });
  await Promise.all([first.received(1), third.received(1), failing.received(2)]);
  await until(async () => (await log(who, failing.id)).every(isDone));
  expect([first, failing, third].map(({ requests }) => requests.length)).toEqual([1, 2, 1]);
  const bodies = [first, failing, third].flatMap(({ requests }) => requests.map(({ body }) => body));
  expect(new Set(bodies).size).toBe(1);
  // Each endpoint has its own message.
  expect(new Set([first, failing, third].flatMap(ids)).size).toBe(3);
});

test('a delivery that is claimed and then deferred because the receiver hangs uses up no attempt', async () => {
  const who = await person('Putoff');
  const receiver = await subscribe(who);
  receiver.answer(() => new Promise(() => undefined), 204);
  await Promise.all(Array.from({ length: 30 }, () => who.call('POST', '/api/notes', { text: 'x' })));
  await until(async () => {
    const list = await log(who, receiver.id);
    return list.length === 30 && list.every(isDone);
  });
  const attempts: number[] = (await log(who, receiver.id)).map((one: { attempts: number }) => one.attempts);
  expect(attempts.sort()).toEqual([...Array(29).fill(1), 2]);
  expect(receiver.requests).toHaveLength(31);
});

test('if the result of a successful attempt cannot be stored, the message is sent again with the same id', async () => {
  const who = await person('Unwritten');
  const receiver = await subscribe(who);
  // A sequence keeps counting even if its transaction fails.
  await client.query('create sequence refusals minvalue 0 start 0');
  await client.query(`create function refuse() returns trigger language plpgsql as
    $$ begin perform nextval('refusals'); raise exception 'not now'; end $$`);
  await client.query(`create trigger refuse before insert on webhook_delivery_log for each row
    when (new.endpoint_id = '${receiver.id}' and new.status = 'succeeded') execute function refuse()`);
  await who.call('POST', '/api/notes', { text: 'x' });
  await receiver.received(1);
  await until(async () => (await client.query('select from refusals where is_called')).rowCount === 1);
  expect((await log(who, receiver.id))[0].status).toBe('sending');
  await client.query('drop trigger refuse on webhook_delivery_log');
  // Expire the leases now instead of waiting.
  await client.query('update webhook_turns set lease_until = now() - make_interval(secs => 1) where endpoint_id = $1', [
    receiver.id,
  ]);
  const end = `update webhook_deliveries set lease_until = now() - make_interval(secs => 1) where endpoint_id = $1 and status = 'sending'`;
  await until(async () => (await client.query(end, [receiver.id])).rowCount === 1);
  await receiver.received(2);
  await until(async () => (await log(who, receiver.id))[0].status === 'succeeded');
  expect(new Set(ids(receiver)).size).toBe(1);
  expect((await log(who, receiver.id))[0].attemptLog).toMatchObject([{ error: 'worker lost' }, { statusCode: 204 }]);
});

test('a receiver that takes almost the whole time-out is called once, because the claim lasts longer', async () => {
  const who = await person('Slow');
  const receiver = await subscribe(who);
  receiver.answer(async (_, res) => {
    await new Promise((resolve) => setTimeout(resolve, timeoutMs * 0.7));
    res.end();
  });
  await who.call('POST', '/api/notes', { text: 'x' });
  await receiver.received(1);
  await until(async () => (await log(who, receiver.id))[0]?.status === 'succeeded');
  expect(receiver.requests).toHaveLength(1);
});

test('if an owner is deleted while a retry waits, no request is sent and nothing of the delivery stays', async () => {
  const who = await person('Gone');
  const receiver = await subscribe(who);
  receiver.answer(500);
  await who.call('POST', '/api/notes', { text: 'x' });
  await until(async () => (await log(who, receiver.id))[0]?.status === 'failed');
  const before = receiver.requests.length;
  const waits = { schedule_attempts: '0', next_attempt_at: `now() + interval '1 hour'` };
  expect(await reopenDeliveries(client, 'endpoint_id = $1', [receiver.id], waits)).toBe(1);
  await app.service('user').delete(who.id);
  await client.query('update webhook_deliveries set next_attempt_at = now() where endpoint_id = $1', [receiver.id]);
  const left = () => client.query(`select from ${ALL_DELIVERIES} d where endpoint_id = $1`, [receiver.id]);
  await until(async () => (await left()).rowCount === 0);
  expect(receiver.requests).toHaveLength(before);
});
