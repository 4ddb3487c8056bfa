import { Client } from 'pg';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { WebhookPublisher } from '../../../../../src/extensions/webhooks/engine/fanout/publish.ts';
import { createApp, defineResource, defineUser, f, webhooks } from '../../../../../src/index.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../../support/app.ts';
import { generateKey } from '../../../../support/database/encrypted-patients.ts';
import { runCommand } from '../../../../support/processes/in-process.ts';
import { ALL_DELIVERIES } from '../../../../support/webhooks/deliveries.ts';
import { fillEventLog } from '../../../../support/webhooks/event-log.ts';

const author = f.ref('user').owner();
const note = defineResource('note', {
  fields: { text: f.text(), owner: author },
  policies: { read: 'owner', create: 'authenticated', update: 'owner', delete: 'owner' },
});
const story = defineResource('story', {
  fields: {
    text: f.text(),
    draft: f.boolean().default(false),
    secret: f.string().optional().visibleTo('owner'),
    owner: author,
  },
  policies: {
    read: ({ user, doc }) => doc.draft !== true || doc.owner === user?.id,
    create: 'authenticated',
    update: 'owner',
    delete: 'owner',
  },
});
const patient = defineResource('patient', {
  fields: { name: f.string(), diagnosis: f.text().encrypted(), owner: author },
  policies: { read: 'owner', create: 'authenticated' },
});
const made = {
  resources: [defineUser({ roles: ['user', 'admin'] }), note, story, patient],
  extensions: [
    webhooks({
      keepEventsDays: 7,
      pollMs: 50,
      timeoutMs: 120_000,
      maxEndpointsPerUser: 50,
      retrySchedule: ['1h'],
      events: { 'number.drawn': { schema: z.object({ number: z.number() }) } },
    }),
  ],
} as const;
const { app, person, env } = await startTestApp(made, {
  roles: 'all',
  env: () => ({ SVC_ENCRYPTION_KEYS: generateKey() }),
});
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const opened: { close(): Promise<unknown> }[] = [];
afterAll(async () => {
  await Promise.all(opened.map((one) => one.close()));
  await client.end();
});
const WAIT = { timeout: 60_000, interval: 20 };
const until = (condition: () => Promise<boolean>) => vi.waitUntil(condition, WAIT);

const count = async (from: string, ...values: unknown[]) =>
  (await client.query(`select count(*)::int as n from ${from}`, values)).rows[0].n as number;
const handled = () => until(async () => (await count('outbox')) === 0);

let ann: Person;
let bob: Person;
beforeEach(async () => {
  await handled();
  await client.query('delete from webhook_event_log');
  [ann, bob] = [await person('Ann'), await person('Bob')];
});

// The type of the test helper does not know the APIs that extensions add.
const { publish } = (app as unknown as { webhooks: WebhookPublisher }).webhooks;

async function receive(): Promise<Receiver> {
  const receiver = await startReceiver();
  opened.push(receiver);
  return receiver;
}
async function subscribe(who: Person, input: object = {}): Promise<{ id: string; receiver: Receiver }> {
  const receiver = await receive();
  const { status, body } = await who.call('POST', '/api/webhooks', { url: receiver.url, events: ['*'], ...input });
  expect(status, JSON.stringify(body)).toBe(201);
  return { id: body.data.id, receiver };
}
const create = async (who: Person, path: string, input: object): Promise<string> => {
  const { status, body } = await who.call('POST', `/api/${path}`, input);
  expect(status, JSON.stringify(body)).toBe(201);
  return body.data.id;
};
const HOUR = 3_600_000;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

const start = (who: Person, endpoint: string, input: object = { since: ago(HOUR) }) =>
  who.call('POST', `/api/webhooks/${endpoint}/backfill`, input);
const read = async (who: Person, endpoint: string, id: string) =>
  (await who.call('GET', `/api/webhooks/${endpoint}/backfills/${id}`)).body.data;
/** Starts a backfill and waits until it has ended. */
async function backfill(who: Person, endpoint: string, input?: object) {
  const { status, body } = await start(who, endpoint, input);
  expect(status, JSON.stringify(body)).toBe(202);
  await until(async () => (await read(who, endpoint, body.data.id)).status !== 'running');
  return read(who, endpoint, body.data.id);
}
const bodiesOf = (requests: readonly ReceivedRequest[]) => requests.map(({ body }) => body).sort();
/** Waits until nothing waits at an endpoint. */
const drained = (endpoint: string) =>
  until(async () => (await count('webhook_deliveries where endpoint_id = $1', endpoint)) === 0);

test('a new endpoint gets what an endpoint that has existed all along has received, with the same bodies', async () => {
  await handled();
  await client.query('delete from webhook_event_log');
  const before = await subscribe(ann);
  const ids = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      create(i % 3 === 0 ? bob : ann, i % 2 === 0 ? 'notes' : 'stories', { text: `${i}` }),
    ),
  );
  for (const [i, id] of ids.entries()) {
    const [who, path] = [i % 3 === 0 ? bob : ann, i % 2 === 0 ? 'notes' : 'stories'];
    if (i % 4 === 1) await who.call('PATCH', `/api/${path}/${id}`, { text: `${i} changed` });
    if (i % 5 === 2) expect((await who.call('DELETE', `/api/${path}/${id}`)).status).toBe(204);
  }
  await create(ann, 'patients', { name: 'Pat', diagnosis: 'flu' });
  await publish('number.drawn', { number: 7 }, { owner: ann.id });
  await publish('number.drawn', { number: 8 }, { owner: bob.id });
  await publish('number.drawn', { number: 9 });
  await handled();
  await drained(before.id);
  const after = await subscribe(ann);
  const result = await backfill(ann, after.id);
  await drained(after.id);
  expect(bodiesOf(after.receiver.requests)).toEqual(bodiesOf(before.receiver.requests));
  expect(result).toMatchObject({ status: 'finished', sent: before.receiver.requests.length, events: null });
  expect(after.receiver.requests.every(({ headers }) => headers['webhook-backfill'] === 'true')).toBe(true);
  expect(before.receiver.requests.some(({ headers }) => 'webhook-backfill' in headers)).toBe(false);
  // Nothing is sent twice, neither to the new endpoint nor to the one that has everything.
  expect(await backfill(ann, after.id)).toMatchObject({ status: 'finished', sent: 0 });
  expect(await backfill(ann, before.id)).toMatchObject({ status: 'finished', sent: 0 });
});

test('the log of deliveries shows which ones a backfill has created, and a retry carries the header again', async () => {
  await create(ann, 'notes', { text: 'missed' });
  await handled();
  const { id, receiver } = await subscribe(ann, { events: ['note.*'] });
  receiver.answer(500, 204);
  await backfill(ann, id);
  await receiver.received(1);
  await until(async () => (await count('webhook_deliveries where endpoint_id = $1 and attempts = 1', id)) === 1);
  const [delivery] = (await ann.call('GET', `/api/webhooks/${id}/deliveries`)).body.data;
  expect(delivery).toMatchObject({ type: 'note.created', backfill: true, attempts: 1 });
  await ann.call('POST', `/api/webhooks/${id}/deliveries/${delivery.id}/retry`);
  await receiver.received(2);
  expect(receiver.requests.map(({ headers }) => headers['webhook-backfill'])).toEqual(['true', 'true']);
  await drained(id);
  expect((await ann.call('GET', `/api/webhooks/${id}/deliveries`)).body.data).toMatchObject([{ backfill: true }]);
  await create(ann, 'notes', { text: 'live' });
  await receiver.received(3);
  await drained(id);
  const listed = (await ann.call('GET', `/api/webhooks/${id}/deliveries`)).body.data;
  expect(listed.map((one: { backfill?: true }) => one.backfill ?? false).sort()).toEqual([false, true]);
});

test('belfry webhooks backfill starts a backfill, and says if it cannot', async () => {
  await create(ann, 'notes', { text: 'missed' });
  await handled();
  const { id, receiver } = await subscribe(ann);
  const command = (args: string) => runCommand(`webhooks backfill --endpoint ${id} ${args}`, app);
  const { code, output } = await command('--since 1h');
  expect([code, output]).toEqual([
    0,
    expect.stringMatching(/gets the kept events that it has missed \(backfill [0-9a-f]{24}\)/),
  ]);
  await receiver.received(1);
  expect(receiver.requests[0]!.headers['webhook-backfill']).toBe('true');
  const future = await command('--since 1h --until 2h');
  expect([future.code, future.errorOutput]).toEqual([1, expect.stringContaining('since must be before until')]);
  await ann.call('PATCH', `/api/webhooks/${id}`, { enabled: false });
  const disabled = await command('--since 1h --json');
  expect([disabled.code, JSON.parse(disabled.output)]).toEqual([1, { endpoint: id, state: 'disabled', id: null }]);
});

test('an explanation knows kept events that nobody got, and shows them only to those who may read them', async () => {
  await ann.call('POST', '/api/notes', { text: 'kept' });
  await handled();
  const { rows } = await client.query<{ id: string }>("select id from webhook_event_log where name = 'note.created'");
  const explain = async (who: Person) => {
    const { body } = await who.call('POST', '/api/webhooks', { url: 'https://example.com/', events: ['note.*'] });
    const explained = await who.call('GET', `/api/webhooks/${body.data.id}/explain?event=${rows[0]!.id}`);
    return explained.body.data;
  };
  expect(await explain(ann)).toMatchObject({
    name: 'note.created',
    reason: 'created_later',
    message: 'The endpoint was created after the event. A backfill can send it.',
  });
  expect(await explain(bob)).toEqual({ event: rows[0]!.id, reason: 'not_readable', message: expect.any(String) });
});

test('an endpoint gets what it has missed while it was disabled', async () => {
  const { id, receiver } = await subscribe(ann, { events: ['note.created'] });
  await create(ann, 'notes', { text: 'first' });
  await receiver.received(1);
  await ann.call('PATCH', `/api/webhooks/${id}`, { enabled: false });
  await create(ann, 'notes', { text: 'missed' });
  await handled();
  expect((await start(ann, id)).status).toBe(400);
  await ann.call('PATCH', `/api/webhooks/${id}`, { enabled: true });
  expect(await backfill(ann, id)).toMatchObject({ sent: 1 });
  await drained(id);
  expect(receiver.requests.map(({ body }) => JSON.parse(body).data.text)).toEqual(['first', 'missed']);
});

test('only events in the range and with the requested names are sent', async () => {
  const first = await create(ann, 'notes', { text: 'first' });
  await handled();
  // The database stores whole milliseconds, so wait until the next one.
  const border = (await client.query(`select pg_sleep(0.01), now() as at`)).rows[0].at.toISOString();
  await client.query('select pg_sleep(0.01)');
  await create(ann, 'notes', { text: 'second' });
  await ann.call('PATCH', `/api/notes/${first}`, { text: 'changed' });
  await create(ann, 'stories', { text: 'third' });
  await handled();
  const textsOf = async (input: object) => {
    const { id, receiver } = await subscribe(ann, { events: ['note.*', 'story.created'] });
    const { sent } = await backfill(ann, id, input);
    await drained(id);
    expect(receiver.requests).toHaveLength(sent);
    return receiver.requests.map(({ body }) => JSON.parse(body).data.text).sort();
  };
  expect(await textsOf({ since: border })).toEqual(['changed', 'second', 'third']);
  expect(await textsOf({ since: ago(HOUR), until: border })).toEqual(['first']);
  expect(await textsOf({ since: border, events: ['note.created'] })).toEqual(['second']);
  expect(await textsOf({ since: border, events: ['note.*'] })).toEqual(['changed', 'second']);
});

test('what the owner could read when it happened, but may not read now, is not sent', async () => {
  const open = await create(bob, 'stories', { text: 'open' });
  const closed = await create(bob, 'stories', { text: 'closed' });
  const deleted = await create(bob, 'stories', { text: 'deleted' });
  const hidden = await create(bob, 'stories', { text: 'draft', draft: true });
  const gone = await create(bob, 'stories', { text: 'draft and deleted' });
  await bob.call('PATCH', `/api/stories/${closed}`, { draft: true });
  await bob.call('DELETE', `/api/stories/${deleted}`);
  await bob.call('PATCH', `/api/stories/${gone}`, { draft: true });
  await bob.call('DELETE', `/api/stories/${gone}`);
  await handled();
  const { id, receiver } = await subscribe(ann, { events: ['story.*'] });
  await backfill(ann, id);
  await drained(id);
  const sent = receiver.requests
    .map(({ body }) => JSON.parse(body))
    .filter(({ data }) => data.owner === bob.id || [open, closed, deleted, hidden, gone].includes(data.id));
  const names = sent.map(({ type, data }) => [type, data.id]);
  expect(new Set(names.map(([, record]) => record))).toEqual(new Set([open, deleted]));
  expect(names.map(([type]) => type).sort()).toEqual(['story.created', 'story.created', 'story.deleted']);
  expect(await count(`${ALL_DELIVERIES} d where endpoint_id = $1`, id)).toBe(receiver.requests.length);
});

test('an endpoint of scope own gets no events of records of other users, and one of scope global gets them', async () => {
  const admin = await person('Admin', ['admin']);
  const mine = await create(bob, 'notes', { text: 'of Bob' });
  await handled();
  const own = await subscribe(admin, { events: ['note.created'] });
  const all = await subscribe(admin, { events: ['note.created'], scope: 'global' });
  expect(await backfill(admin, own.id)).toMatchObject({ sent: 0 });
  expect((await backfill(admin, all.id)).sent).toBeGreaterThan(0);
  await drained(all.id);
  expect(all.receiver.requests.map(({ body }) => JSON.parse(body).data.id)).toContain(mine);
  expect(own.receiver.requests).toEqual([]);
});

test('values of encrypted fields are stored encrypted in the log, and arrive', async () => {
  await create(ann, 'patients', { name: 'Pat', diagnosis: 'measles' });
  await handled();
  const { rows } = await client.query(`select * from webhook_event_log where owner_id = $1`, [ann.id]);
  const logged = rows.find(({ name }) => name === 'patient.created');
  expect(logged).toMatchObject({ record: null, encrypted_record: expect.any(String) });
  expect(JSON.stringify(rows)).not.toContain('measles');
  const { id, receiver } = await subscribe(ann, { events: ['patient.created'] });
  await backfill(ann, id);
  await receiver.received(1);
  expect(JSON.parse(receiver.requests[0]!.body).data.diagnosis).toBe('measles');
  const { rows: stored } = await client.query(`select body from ${ALL_DELIVERIES} d where endpoint_id = $1`, [id]);
  expect(stored).toEqual([{ body: '' }]);
});

test('at most 500 deliveries of a backfill wait, so that new events do not wait for all of it', async () => {
  await fillEventLog(client, ann.id, 1200);
  const { id, receiver } = await subscribe(ann, { events: ['number.drawn'] });
  // The first request is held, so that the endpoint's other requests wait until the test releases them.
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  receiver.answer(async (_, res) => {
    await held;
    res.writeHead(204).end();
  });
  const { body } = await start(ann, id);
  await until(async () => (await count('webhook_deliveries where endpoint_id = $1', id)) === 500);
  await receiver.received(1);
  expect(await read(ann, id, body.data.id)).toMatchObject({ status: 'running', sent: 500 });
  await publish('number.drawn', { number: 1_000_000 }, { owner: ann.id });
  await until(async () => (await count('webhook_deliveries where endpoint_id = $1', id)) === 501);
  release();
  await drained(id);
  await until(async () => (await read(ann, id, body.data.id)).status === 'finished');
  await drained(id);
  expect(receiver.requests).toHaveLength(1201);
  expect(new Set(receiver.requests.map((request) => request.body)).size).toBe(1201);
});

test('an ordered endpoint gets the events in their order, and a new event behind the page that waits', async () => {
  await fillEventLog(client, ann.id, 550);
  const { id, receiver } = await subscribe(ann, { events: ['number.drawn'], ordered: true });
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  receiver.answer(async (_, res) => {
    await held;
    res.writeHead(204).end();
  });
  const { body } = await start(ann, id);
  await receiver.received(1);
  await publish('number.drawn', { number: -1 }, { owner: ann.id });
  await until(async () => (await count('webhook_deliveries where endpoint_id = $1', id)) === 501);
  release();
  await until(async () => (await read(ann, id, body.data.id)).status === 'finished');
  await drained(id);
  const numbers = receiver.requests.map((request) => JSON.parse(request.body).data.number as number);
  expect(numbers.filter((number) => number > 0)).toEqual(Array.from({ length: 550 }, (_, i) => i + 1));
  // The new event waits for the first page at most, not for the rest of the backfill.
  expect(numbers.indexOf(-1)).toBeLessThanOrEqual(500);
});

test('two relays that work on a backfill, one of which stops in the middle, send every event once', async () => {
  const second = createApp(made, env);
  await second.start({ roles: ['relay', 'webhook-worker'] });
  await fillEventLog(client, bob.id, 3000);
  const { id, receiver } = await subscribe(bob, { events: ['number.drawn'] });
  const { body } = await start(bob, id);
  await receiver.received(700);
  await second.close();
  await until(async () => (await read(bob, id, body.data.id)).status === 'finished');
  await drained(id);
  expect(receiver.requests).toHaveLength(3000);
  expect(new Set(receiver.requests.map((request) => request.body)).size).toBe(3000);
  expect(await read(bob, id, body.data.id)).toMatchObject({ sent: 3000 });
});
