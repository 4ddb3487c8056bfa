import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { defineResource, defineUser, f, webhooks } from '../../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../../support/app.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
// Every setting that affects fairness has its default: ten concurrent requests and 10 s per response.
const { person, env } = await startTestApp(
  {
    resources: [defineUser(), note],
    extensions: [webhooks({ maxEndpointsPerUser: 50, events: { 'number.drawn': { schema: z.unknown() } } })],
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

async function receive(): Promise<Receiver> {
  const receiver = await startReceiver();
  opened.push(receiver);
  return receiver;
}

async function subscribe(who: Person, url: string): Promise<string> {
  const { status, body } = await who.call('POST', '/api/webhooks', { url, events: ['note.created'] });
  expect(status).toBe(201);
  return body.data.id;
}

/** Creates a receiver that never responds, with a thousand due deliveries spread over its endpoints. */
async function hang(endpoints: number): Promise<Receiver> {
  const receiver = await receive();
  receiver.answer(() => new Promise(() => undefined));
  const who = await person('Hanging');
  const ids = await Promise.all(Array.from({ length: endpoints }, () => subscribe(who, receiver.url)));
  await client.query(
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
  const hanging = await hang(1);
  const well = await receive();
  const who = await person('Well');
  await subscribe(who, well.url);
  await provePassage(who, well, hanging);
  expect(hanging.inFlight.most).toBeLessThanOrEqual(3);
});

test('the same deliveries spread over twenty untried endpoints do not delay other endpoints either', async () => {
  const well = await receive();
  const who = await person('Proven');
  await subscribe(who, well.url);
  await who.call('POST', '/api/notes', { text: 'first' });
  await well.received(1);
  const hanging = await hang(20);
  await provePassage(who, well, hanging);
  expect(hanging.inFlight.most).toBeLessThanOrEqual(7);
});
