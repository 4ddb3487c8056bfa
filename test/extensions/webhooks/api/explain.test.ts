import { Client } from 'pg';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createApp, defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { createClient, type Person, startTestApp } from '../../../support/app.ts';
import { ALL_DELIVERIES } from '../../../support/webhooks/deliveries.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const diary = defineResource('diary', {
  fields: { owner: f.ref('user').owner() },
  policies: { read: 'owner' },
  webhooks: false,
});
const draft = defineResource('draft', { fields: { text: f.text() }, policies: { read: 'admin' } });
const riddle = defineResource('riddle', {
  fields: { text: f.text() },
  policies: {
    read: () => {
      throw new Error('bug');
    },
  },
});
const extension = webhooks({
  pollMs: 100,
  maxEndpointsPerUser: 100,
  events: { 'invoice.paid': { schema: z.object({}) } },
});
const made = { resources: [defineUser(), note, diary, draft, riddle], extensions: [extension] } as const;
const running = await startTestApp(made, { roles: 'all' });
const { person, env, call } = running;
const app = running.app as unknown as ReturnType<typeof createApp<typeof made.resources, typeof made.extensions>>;
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const receiver = await startReceiver();
const opened: { close(): Promise<unknown> }[] = [receiver];
afterAll(async () => {
  await client.end();
  await Promise.all(opened.map((one) => one.close()));
});

let ann: Person;
let bob: Person;
let root: Person;
beforeEach(async () => {
  [ann, bob, root] = [await person('Ann'), await person('Bob'), await person('Root', ['user', 'admin'])];
});
async function subscribe(who: Person, events: string[], scope = 'own'): Promise<string> {
  const { status, body } = await who.call('POST', '/api/webhooks', { url: receiver.url, events, scope });
  expect(status).toBe(201);
  return body.data.id;
}
const ask = (who: { call: typeof call }, endpoint: string, event: string) =>
  who.call('GET', `/api/webhooks/${endpoint}/explain?event=${event}`);
async function explained(who: Person, endpoint: string, event: string) {
  const { status, body } = await ask(who, endpoint, event);
  expect([status, body.error]).toEqual([200, undefined]);
  return body.data;
}
const deliveryOf = (endpoint: string) =>
  vi.waitUntil(
    async () =>
      (
        await client.query(
          `select id, event_id from ${ALL_DELIVERIES} d where endpoint_id = $1 and status = 'succeeded'`,
          [endpoint],
        )
      ).rows[0],
    { timeout: 60_000, interval: 20 },
  );
const fannedOut = () =>
  vi.waitUntil(async () => (await client.query('select from outbox where available_at <= now()')).rowCount === 0, {
    timeout: 60_000,
    interval: 20,
  });
/** Creates an event of a record that waits in the outbox. */
async function waiting(name: string, record: object, resource = name.split('.')[0]): Promise<string> {
  const at = new Date().toISOString();
  const id = `${Math.floor(Date.now() / 1000).toString(16)}${String(Math.random()).slice(2, 18).padEnd(16, '0')}`;
  await client.query(
    `insert into outbox (event_id, name, resource, record_id, payload, available_at) values ($1, $2, $3, $4, $5, now() + interval '1 hour')`,
    [id, name, resource, 'f'.repeat(24), { record: { id: 'f'.repeat(24), created_at: at, updated_at: at, ...record } }],
  );
  return id;
}
const explanationWith = (reason: string) => ({
  event: expect.any(String),
  reason,
  message: expect.stringMatching(/\.$/),
});

test('delivered: with the delivery and its status, by the id of the event or of any of its deliveries', async () => {
  const [first, second] = [await subscribe(ann, ['note.created']), await subscribe(ann, ['note.*'])];
  await ann.call('POST', '/api/notes', { text: 'x' });
  const [one, two] = [await deliveryOf(first), await deliveryOf(second)];
  for (const queriedId of [one.event_id, one.id, two.id]) {
    expect(await explained(ann, first, queriedId)).toEqual({
      ...explanationWith('delivered'),
      event: one.event_id,
      name: 'note.created',
      delivery: { id: one.id, status: 'succeeded', attempts: 1, error: null },
    });
  }
});

test.each([
  ['filtered', ['user.created'], async () => undefined],
  ['disabled', ['note.*'], (id: string) => ann.call('PATCH', `/api/webhooks/${id}`, { enabled: false })],
  ['changed_since', ['user.created'], (id: string) => ann.call('PATCH', `/api/webhooks/${id}`, { events: ['*'] })],
])('%s explains why the event was not delivered', async (reason, events, act) => {
  const [got, other] = [await subscribe(ann, ['note.*']), await subscribe(ann, events)];
  if (reason === 'disabled') await act(other);
  await ann.call('POST', '/api/notes', { text: 'x' });
  const { event_id } = await deliveryOf(got);
  if (reason !== 'disabled') await act(other);
  expect(await explained(ann, other, event_id)).toEqual({
    ...explanationWith(reason),
    event: event_id,
    name: 'note.created',
  });
});

test('created_later: the endpoint was created after the event was handled', async () => {
  const got = await subscribe(ann, ['note.*']);
  await ann.call('POST', '/api/notes', { text: 'x' });
  const { id } = await deliveryOf(got);
  const later = await subscribe(ann, ['note.*']);
  expect(await explained(ann, later, id)).toMatchObject({ reason: 'created_later', name: 'note.created' });
});

test('waiting: the event is not handled yet; any other reason takes precedence', async () => {
  const event = await waiting('note.created', { owner: ann.id, text: 'x' });
  const [all, other] = [await subscribe(ann, ['*']), await subscribe(ann, ['user.*'])];
  expect(await explained(ann, all, event)).toEqual({ ...explanationWith('waiting'), event, name: 'note.created' });
  expect(await explained(ann, other, event)).toMatchObject({ reason: 'filtered' });
});

test('if the relay has handled an event in part, the endpoints that it has passed do not wait', async () => {
  const [first, second, third] = [
    await subscribe(ann, ['*']),
    await subscribe(ann, ['*']),
    await subscribe(ann, ['*']),
  ];
  const event = await waiting('note.created', { owner: ann.id, text: 'x' });
  await client.query(
    `update outbox set name = 'webhooks.event', payload = payload || jsonb_build_object('name', name, 'after', $2::text, 'position', id)
     where event_id = $1`,
    [event, second],
  );
  expect(await explained(ann, first, event)).toMatchObject({ reason: 'changed_since', name: 'note.created' });
  expect(await explained(ann, second, event)).toMatchObject({ reason: 'changed_since' });
  expect(await explained(ann, third, event)).toMatchObject({ reason: 'waiting' });
});

test('an event of a resource that is never sent responds 404, even while it is in the outbox', async () => {
  const endpoint = await subscribe(ann, ['*']);
  expect((await ask(ann, endpoint, await waiting('diary.created', { owner: ann.id }))).status).toBe(404);
});

test.each([
  ['a record of another user', () => waiting('note.created', { owner: bob.id, text: 'secret' })],
  ['a record for admins', () => waiting('draft.created', { text: 'secret' })],
  ['a record whose policy throws', () => waiting('riddle.created', { text: 'secret' })],
  [
    'an event published for another user',
    async () => (await app.webhooks.publish('invoice.paid', {}, { owner: bob.id })).id,
  ],
  ['an event published without an owner', async () => (await app.webhooks.publish('invoice.paid', {})).id],
])('not_readable: for %s nothing else is revealed, whatever the endpoint subscribes to', async (_, happen) => {
  const [all, other] = [await subscribe(ann, ['*']), await subscribe(ann, ['user.deleted'])];
  const event = await happen();
  await fannedOut();
  for (const endpoint of [all, other])
    expect(await explained(ann, endpoint, event)).toEqual({ ...explanationWith('not_readable'), event });
});

test('not_readable: a deleted record that a global endpoint received and an own endpoint never did', async () => {
  const [global, own] = [await subscribe(root, ['note.*'], 'global'), await subscribe(root, ['*'])];
  const { id } = (await ann.call('POST', '/api/notes', { text: 'x' })).body.data;
  const { event_id } = await deliveryOf(global);
  expect(await explained(root, own, event_id)).toEqual({ ...explanationWith('not_readable'), event: event_id });
  await app.service('note').delete(id);
  expect(await explained(root, own, event_id)).toEqual({ ...explanationWith('not_readable'), event: event_id });
});

test('the rules of global endpoints apply to a global endpoint until its owner may no longer have one', async () => {
  const endpoint = await subscribe(root, ['user.*'], 'global');
  const event = await waiting('note.created', { owner: ann.id, text: 'x' });
  expect(await explained(root, endpoint, event)).toMatchObject({ reason: 'filtered' });
  const { id } = await app.webhooks.publish('invoice.paid', {}, { owner: ann.id });
  await fannedOut();
  expect(await explained(root, endpoint, id)).toMatchObject({ reason: 'filtered', name: 'invoice.paid' });
  await app.service('user').update(root.id, { roles: ['user'] });
  for (const queriedId of [event, id])
    expect(await explained(root, endpoint, queriedId)).toEqual({
      ...explanationWith('not_readable'),
      event: queriedId,
    });
});

test('a published event that reached no endpoint is still known', async () => {
  const endpoint = await subscribe(ann, ['note.*']);
  const { id } = await app.webhooks.publish('invoice.paid', {}, { owner: ann.id });
  await fannedOut();
  expect(await explained(ann, endpoint, id)).toEqual({
    ...explanationWith('filtered'),
    event: id,
    name: 'invoice.paid',
  });
  const later = await subscribe(ann, ['*']);
  expect(await explained(ann, later, id)).toMatchObject({ reason: 'created_later' });
});

test('too_old: the event is older than the retention time; events that never happened, as far as is known, respond 404', async () => {
  const endpoint = await subscribe(ann, ['*']);
  const idAt = (daysAgo: number) => `${Math.floor(Date.now() / 1000 - daysAgo * 86_400).toString(16)}${'a'.repeat(16)}`;
  const old = idAt(15);
  expect(await explained(ann, endpoint, old)).toEqual({ ...explanationWith('too_old'), event: old });
  for (const event of [idAt(1), idAt(-1), 'f'.repeat(24), 'nonsense', '%00', 'msg_1']) {
    const { status, body } = await ask(ann, endpoint, event);
    expect([event, status, body.error.code]).toEqual([event, 404, 'NOT_FOUND']);
  }
});

test('a test of another endpoint and another user’s delivery or endpoint respond 404; without a session the response is 401', async () => {
  const [mine, other, bobs] = [
    await subscribe(ann, ['*']),
    await subscribe(ann, ['*']),
    await subscribe(bob, ['note.*']),
  ];
  const { id } = (await ann.call('POST', `/api/webhooks/${mine}/test`)).body.data;
  expect(await explained(ann, mine, id)).toMatchObject({ reason: 'delivered', name: 'webhook.test' });
  expect((await ask(ann, other, id)).status).toBe(404);
  await bob.call('POST', '/api/notes', { text: 'x' });
  const delivery = await deliveryOf(bobs);
  for (const queriedId of [delivery.id, delivery.event_id]) expect((await ask(ann, mine, queriedId)).status).toBe(404);
  for (const endpoint of [bobs, 'f'.repeat(24), 'nonsense']) expect((await ask(ann, endpoint, id)).status).toBe(404);
  expect((await ask({ call }, mine, id)).status).toBe(401);
});

test.each(['', '?event=', '?event=a&event=b', '?event[eq]=a', '?events=a', '?event=a&limit=1'])(
  'the query %j responds 400',
  async (query) => {
    const endpoint = await subscribe(ann, ['*']);
    const { status, body } = await ann.call('GET', `/api/webhooks/${endpoint}/explain${query}`);
    expect([status, body.error.code]).toEqual([400, 'BAD_REQUEST']);
  },
);

test('explanations are limited to 10 per minute and client', async () => {
  const endpoint = await subscribe(ann, ['*']);
  const limited = createApp(
    { ...made, settings: { rateLimit: { enabled: true } } },
    { ...env, REDIS_PREFIX: `${env.REDIS_PREFIX}-limited` },
  );
  opened.push(limited);
  const { url } = await limited.start({ port: 0, roles: ['web'] });
  const statuses = [];
  for (let i = 0; i < 11; i++)
    statuses.push((await ask({ call: createClient(url, ann.token) }, endpoint, 'f'.repeat(24))).status);
  expect(statuses).toEqual([...Array(10).fill(404), 429]);
});
