import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../support/app.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
// All that decides on fairness is left as it is by default: ten requests at once, 10 s for an answer.
const { person, env } = await startTestApp({
  resources: [defineUser(), note],
  extensions: [webhooks({ maxEndpointsPerUser: 50, events: { 'number.drawn': { schema: z.unknown() } } })],
});
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

/** A receiver that never answers, and a thousand deliveries that wait for it, shared out over its endpoints. */
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

/** Sends events to a healthy receiver: they do not wait until requests that hang have come to their end. */
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
  // One or the other may end by chance while an event is on its way; who had to wait for a place would see it each time.
  expect(heldUp).toBeLessThan(10);
}

test('a thousand deliveries for a receiver that never answers hold up nobody else, a new endpoint neither', async () => {
  const hanging = await hang(1);
  const well = await receive();
  const who = await person('Well');
  await subscribe(who, well.url);
  await provePassage(who, well, hanging);
  expect(hanging.inFlight.most).toBeLessThanOrEqual(3);
});

test('nor do they when they belong to twenty endpoints, which nobody knows yet', async () => {
  const well = await receive();
  const who = await person('Proven');
  await subscribe(who, well.url);
  await who.call('POST', '/api/notes', { text: 'first' });
  await well.received(1);
  const hanging = await hang(20);
  await provePassage(who, well, hanging);
  expect(hanging.inFlight.most).toBeLessThanOrEqual(7);
});
