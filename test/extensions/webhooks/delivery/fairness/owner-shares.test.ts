import { Client } from 'pg';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { defineResource, defineUser, f, webhooks } from '../../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../../support/app.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
// The default concurrency. A hanging request does not time out while a test runs.
const { person, env } = await startTestApp(
  {
    resources: [defineUser(), note],
    extensions: [webhooks({ timeoutMs: 120_000, disableAfterFailures: 0 })],
  },
  { roles: 'all' },
);
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const receivers: Receiver[] = [];
let releaseHanging = () => {};
let hang = Promise.resolve();
afterAll(async () => {
  releaseHanging();
  await client.end();
  await Promise.all(receivers.map((receiver) => receiver.close()));
});
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
  const [who, receiver] = [await person(name), await startReceiver()];
  receivers.push(receiver);
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
  client.query('update webhook_endpoints set slow = true where id = any($1)', [
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
