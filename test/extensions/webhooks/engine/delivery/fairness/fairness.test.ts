import { Client } from 'pg';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { defineResource, defineUser, f, webhooks } from '../../../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../../../support/app.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
// The default concurrency. A hanging request does not time out while a test runs.
const patient = await startTestApp(
  { resources: [defineUser(), note], extensions: [webhooks({ timeoutMs: 120_000, disableAfterFailures: 0 })] },
  { roles: 'all' },
);
// Every setting that affects fairness has its default: ten concurrent requests and 10 s per response.
const usual = await startTestApp(
  {
    resources: [defineUser(), note],
    extensions: [webhooks({ maxEndpointsPerUser: 50, events: { 'number.drawn': { schema: z.unknown() } } })],
  },
  { roles: 'all' },
);
const [patientClient, usualClient] = [patient, usual].map(
  ({ env }) => new Client({ connectionString: env.DATABASE_URL }),
) as [Client, Client];
await Promise.all([patientClient.connect(), usualClient.connect()]);
const receivers: Receiver[] = [];
let releaseHanging = () => {};
let hang = Promise.resolve();
afterAll(async () => {
  releaseHanging();
  await Promise.all([patientClient.end(), usualClient.end()]);
  await Promise.all(receivers.map((receiver) => receiver.close()));
});

async function receive(): Promise<Receiver> {
  const receiver = await startReceiver();
  receivers.push(receiver);
  return receiver;
}

beforeEach(() => {
  hang = new Promise((resolve) => {
    releaseHanging = resolve;
  });
});

interface Subscriber {
  who: Person;
  receiver: Receiver;
  paths: string[];
}

async function subscribe(name: string, count: number): Promise<Subscriber> {
  const [who, receiver] = [await patient.person(name), await receive()];
  const input = { url: receiver.url, events: ['note.created'] };
  const created = await Promise.all(Array.from({ length: count }, () => who.call('POST', '/api/webhooks', input)));
  return { who, receiver, paths: created.map(({ body }) => `/api/webhooks/${body.data.id}`) };
}

/** A user with ten endpoints, all that one user may have. They respond only after `releaseHanging`. */
async function subscribeHanging(): Promise<Subscriber> {
  const hanging = await subscribe('Hanging', 10);
  hanging.receiver.answer((_request, res) => void hang.then(() => res.end()));
  return hanging;
}

const createNote = ({ who }: Subscriber) => who.call('POST', '/api/notes', { text: 'new' });
const until = (condition: () => unknown) => vi.waitUntil(condition, { timeout: 60_000, interval: 20 });

/** Moves endpoints to the slow lane. */
const setSlow = (...subscribers: Subscriber[]) =>
  patientClient.query('update webhook_endpoints set slow = true where id = any($1)', [
    subscribers.flatMap(({ paths }) => paths.map((path) => path.split('/').at(-1))),
  ]);

/** Sends something to two other users while all requests of the first user hang. */
async function proveOthersPass(hanging: Subscriber, send: (other: Subscriber) => Promise<unknown>): Promise<void> {
  await hanging.receiver.received(1);
  for (const name of ['Bob', 'Carol']) {
    const other = await subscribe(name, 1);
    await send(other);
    await other.receiver.received(1);
  }
  expect(hanging.receiver.inFlight.now).toBe(hanging.receiver.requests.length);
}

test("the first delivery to a user's new endpoint does not wait for ten new endpoints of another user that hang", async () => {
  const hanging = await subscribeHanging();
  await createNote(hanging);
  await proveOthersPass(hanging, createNote);
  releaseHanging();
  await hanging.receiver.received(10);
});

test("a delivery to a user's slow endpoint does not wait for ten slow endpoints of another user that hang", async () => {
  const hanging = await subscribeHanging();
  await setSlow(hanging);
  await createNote(hanging);
  await proveOthersPass(hanging, async (other) => {
    await setSlow(other);
    await createNote(other);
  });
  releaseHanging();
  await hanging.receiver.received(10);
});

test("a user's test is sent while tests of ten endpoints of another user hang", async () => {
  const hanging = await subscribeHanging();
  const tests = hanging.paths.map((path) => hanging.who.call('POST', `${path}/test`));
  await proveOthersPass(hanging, async ({ who, paths: [path] }) => {
    const { body } = await who.call('POST', `${path}/test`);
    expect(body.data).toMatchObject({ type: 'webhook.test', status: 'succeeded' });
  });
  releaseHanging();
  expect((await Promise.all(tests)).map(({ body }) => body.data.status)).toEqual(Array(10).fill('succeeded'));
});

test("a user's retry is sent while retries of ten endpoints of another user hang", async () => {
  const hanging = await subscribeHanging();
  releaseHanging();
  await createNote(hanging);
  await hanging.receiver.received(10);
  const logOf = async ({ who, paths }: Subscriber, i: number) =>
    (await who.call('GET', `${paths[i]}/deliveries?status=succeeded`)).body.data;
  const other = await subscribe('Dora', 1);
  await createNote(other);
  await until(async () => (await logOf(other, 0)).length === 1);
  for (const i of hanging.paths.keys()) await until(async () => (await logOf(hanging, i)).length === 1);
  const { promise, resolve } = Promise.withResolvers<void>();
  hanging.receiver.answer((_request, res) => void promise.then(() => res.end()));
  for (const [i, path] of hanging.paths.entries())
    await hanging.who.call('POST', `${path}/deliveries/${(await logOf(hanging, i))[0].id}/retry`);
  await hanging.receiver.received(11);
  await other.who.call('POST', `${other.paths[0]}/deliveries/${(await logOf(other, 0))[0].id}/retry`);
  await other.receiver.received(2);
  expect(hanging.receiver.inFlight.now).toBeGreaterThan(0);
  resolve();
  await hanging.receiver.received(20);
});

async function addEndpoint(who: Person, url: string): Promise<string> {
  const { status, body } = await who.call('POST', '/api/webhooks', { url, events: ['note.created'] });
  expect(status).toBe(201);
  return body.data.id;
}

/** Creates a receiver that never responds, with a thousand due deliveries spread over its endpoints. */
async function hangWith(endpoints: number): Promise<Receiver> {
  const receiver = await receive();
  receiver.answer(() => new Promise(() => undefined));
  const who = await usual.person('Hanging');
  const ids = await Promise.all(Array.from({ length: endpoints }, () => addEndpoint(who, receiver.url)));
  await usualClient.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, next_attempt_at)
     select substr(md5(e || '-' || n), 1, 24), e, 'hanging-' || n, 'msg_' || n, 'number.drawn', '{}', now()
     from unnest($1::text[]) e, generate_series(1, $2::int) n`,
    [ids, 1000 / endpoints],
  );
  return receiver;
}

/** Sends events to a healthy receiver and checks that they arrive before the hanging requests time out. */
async function provePassage(who: Person, well: Receiver, hanging: Receiver): Promise<void> {
  await vi.waitUntil(() => hanging.inFlight.now > 0, { timeout: 60_000, interval: 20 });
  const before = well.requests.length;
  const ended = () => hanging.requests.length - hanging.inFlight.now;
  let heldUp = 0;
  for (let i = 1; i <= 30; i++) {
    const begun = ended();
    await who.call('POST', '/api/notes', { text: `${i}` });
    await well.received(before + i, 30_000);
    if (ended() > begun) heldUp += 1;
  }
  // A hanging request may end by chance while an event is on its way. If events had to wait for a slot, it would happen each time.
  expect(heldUp).toBeLessThan(10);
}

test('a thousand deliveries to a receiver that never responds delay no other endpoint, not even a new one', async () => {
  const hanging = await hangWith(1);
  const well = await receive();
  const who = await usual.person('Well');
  await addEndpoint(who, well.url);
  await provePassage(who, well, hanging);
  expect(hanging.inFlight.most).toBeLessThanOrEqual(3);
});

test('the same deliveries spread over twenty untried endpoints do not delay other endpoints either', async () => {
  const well = await receive();
  const who = await usual.person('Proven');
  await addEndpoint(who, well.url);
  await who.call('POST', '/api/notes', { text: 'first' });
  await well.received(1);
  const hanging = await hangWith(20);
  await provePassage(who, well, hanging);
  expect(hanging.inFlight.most).toBeLessThanOrEqual(7);
});
