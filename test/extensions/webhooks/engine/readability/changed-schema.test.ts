import { Client } from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createApp, defineResource, defineUser, f, webhooks } from '../../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../../fakes/receiver.ts';
import { type Client as Caller, createClient, startTestApp } from '../../../../support/app.ts';

const NOT_READABLE = "The endpoint's owner may no longer read this record";
const policies = { create: 'authenticated', update: 'authenticated', delete: 'authenticated', read: 'owner' } as const;
const owned = { policies };
const user = defineUser({ roles: ['user', 'admin'] });
const extensions = [webhooks({ retrySchedule: ['1h', '1h'], pollMs: 50, maxEndpointsPerUser: 50 })];

const writer = f.ref('user').owner();
const shelf = defineResource('shelf', {
  fields: { name: f.string(), code: f.string() },
  policies: { ...policies, read: 'authenticated' },
});
/** A resource with a route whose input has this field. */
const createEcho = (field: 'title' | 'headline') =>
  defineResource('echo', {
    path: '/echo',
    fields: {},
    routes: (route) => [
      route.post('/say', { policy: 'public', input: z.strictObject({ [field]: z.string() }) }, ({ input }) => input),
    ],
  });
const before = [
  user,
  shelf,
  createEcho('title'),
  defineResource('renamed-field', { fields: { title: f.string(), writer }, ...owned }),
  defineResource('renamed-resource', { fields: { title: f.string(), writer }, ...owned }),
  defineResource('renamed-owner', { fields: { title: f.string(), writer }, ...owned }),
  defineResource('removed-field', { fields: { title: f.string(), mood: f.string(), writer }, ...owned }),
  defineResource('removed-value', { fields: { mood: f.enum(['sad', 'glad']), writer }, ...owned }),
  defineResource('changed-type', {
    fields: { count: f.integer(), place: f.object({ city: f.string(), street: f.string() }), writer },
    ...owned,
  }),
  defineResource('removed-timestamps', { fields: { title: f.string(), writer }, ...owned }),
  defineResource('removed-reference', { fields: { shelf: f.ref('shelf').populate(), writer }, ...owned }),
  defineResource('hidden-field', { fields: { title: f.string(), code: f.string(), writer }, ...owned }),
  defineResource('renamed-and-hidden', { fields: { title: f.string(), code: f.string(), writer }, ...owned }),
  defineResource('closed-resource', { fields: { title: f.string(), writer }, ...owned }),
  defineResource('unreadable-shelf', { fields: { shelf: f.ref('shelf').populate(), writer }, ...owned }),
];
const after = [
  user,
  createEcho('headline'),
  defineResource('shelf', {
    fields: { name: f.string(), code: f.string() },
    policies: { ...policies, read: 'authenticated', reference: 'authenticated' },
    scope: () => ({ name: 'open' }),
  }),
  defineResource('renamed-field', { fields: { headline: f.string().renamedFrom('name', 'title'), writer }, ...owned }),
  defineResource('new-resource', { renamedFrom: 'renamed-resource', fields: { title: f.string(), writer }, ...owned }),
  defineResource('renamed-owner', {
    fields: { title: f.string(), author: f.ref('user').owner().renamedFrom('writer') },
    ...owned,
  }),
  defineResource('removed-field', { fields: { title: f.string(), writer }, ...owned }),
  defineResource('removed-value', { fields: { mood: f.enum(['glad']), writer }, ...owned }),
  defineResource('changed-type', {
    fields: { count: f.string(), place: f.object({ city: f.string() }), writer },
    ...owned,
  }),
  defineResource('removed-timestamps', {
    fields: { title: f.string(), writer },
    timestamps: false,
    defaultSort: '_id',
    ...owned,
  }),
  defineResource('removed-reference', { fields: { writer }, ...owned }),
  defineResource('hidden-field', { fields: { title: f.string(), code: f.string().hidden(), writer }, ...owned }),
  defineResource('renamed-and-hidden', {
    fields: { title: f.string(), pin: f.string().visibleTo('admin').renamedFrom('code'), writer },
    ...owned,
  }),
  defineResource('closed-resource', {
    fields: { title: f.string(), writer },
    policies: { ...policies, read: 'admin' },
  }),
  defineResource('unreadable-shelf', { fields: { writer }, ...owned }),
];

const old = await startTestApp({ resources: before, extensions }, { roles: 'all' });
const sql = new Client({ connectionString: old.env.DATABASE_URL });
await sql.connect();
const receivers = new Map<string, Receiver>();
let renewed: { close(): Promise<void> } | undefined;
afterAll(async () => {
  await renewed?.close();
  await sql.end();
  await Promise.all([...receivers.values()].map((one) => one.close()));
});
const patience = { timeout: 60_000, interval: 20 };
const endpoints = new Map<string, string>();
let ann: Caller;

/** Subscribes to the events of a resource, and creates a record. Its delivery fails once, and waits for the retry. */
async function waitForRetry(call: Caller, resource: string, path: string, values: object): Promise<string> {
  const receiver = await startReceiver();
  receivers.set(resource, receiver);
  receiver.answer(500);
  const made = await call('POST', '/api/webhooks', { url: receiver.url, events: [`${resource}.*`] });
  expect(made.status).toBe(201);
  endpoints.set(resource, made.body.data.id);
  const { status, body } = await call('POST', `/api/${path}`, values);
  expect(status).toBe(201);
  await receiver.received(1);
  const isWaiting = async () => (await logOf(call, resource))[0]?.attempts === 1;
  await vi.waitUntil(isWaiting, patience);
  return body.data.id;
}

const logOf = async (call: Caller, resource: string) =>
  (await call('GET', `/api/webhooks/${endpoints.get(resource)}/deliveries`)).body.data;

beforeAll(async () => {
  const { call, token } = await old.person('Ann');
  const [open, closed] = await Promise.all(
    ['open', 'closed'].map(async (name) => (await old.app.service('shelf').create({ name, code: 'c' })).id),
  );
  const title = 'once';
  await waitForRetry(call, 'renamed-field', 'renamed-fields', { title });
  await waitForRetry(call, 'renamed-resource', 'renamed-resources', { title });
  await waitForRetry(call, 'removed-field', 'removed-fields', { title, mood: 'sad' });
  await waitForRetry(call, 'removed-value', 'removed-values', { mood: 'sad' });
  await waitForRetry(call, 'changed-type', 'changed-types', { count: 1, place: { city: 'Ulm', street: 'Gasse' } });
  await waitForRetry(call, 'removed-timestamps', 'removed-timestamps', { title });
  await waitForRetry(call, 'removed-reference', 'removed-references', { shelf: open });
  await waitForRetry(call, 'hidden-field', 'hidden-fields', { title, code: 'top secret' });
  await waitForRetry(call, 'renamed-and-hidden', 'renamed-and-hiddens', { title, code: 'top secret' });
  await waitForRetry(call, 'closed-resource', 'closed-resources', { title });
  await waitForRetry(call, 'unreadable-shelf', 'unreadable-shelves', { shelf: closed });
  expect((await call('POST', '/api/echo/say', { title }, { 'idempotency-key': 'one' })).status).toBe(200);
  // The record of this delivery is deleted under the old name of its owner field.
  const id = await waitForRetry(call, 'renamed-owner', 'renamed-owners', { title });
  await call('DELETE', `/api/renamed-owners/${id}`);
  await receivers.get('renamed-owner')!.received(2);
  // These changes happened before the deployment, but the relay of the old version has not handled them.
  await sql.query(
    `insert into outbox (event_id, name, resource, record_id, payload, available_at)
     select reverse(id), 'renamed-field.updated', 'renamed-field', id, jsonb_build_object('record', to_jsonb(r.*)), now() + interval '1 hour'
     from renamed_fields r`,
  );
  await sql.query(
    `insert into outbox (event_id, name, resource, record_id, payload, available_at)
     select reverse(id), 'renamed-resource.updated', 'renamed-resource', id, jsonb_build_object('record', to_jsonb(r.*)), now() + interval '1 hour'
     from renamed_resources r`,
  );
  await old.app.close();
  const app = createApp(
    { resources: after, extensions, settings: { auth: { password: { logN: 4, r: 8, p: 1 } } } },
    old.env,
  );
  renewed = app;
  await app.migrate({ mode: 'sync', mayDrop: 'anything' });
  for (const receiver of receivers.values()) receiver.answer(204);
  const { url } = await app.start({ port: 0, roles: ['web', 'relay', 'webhook-worker'] });
  ann = createClient(url, token);
  await sql.query('update webhook_deliveries set next_attempt_at = now()');
  await sql.query('update outbox set available_at = now()');
}, 300_000);

test.each([
  ['a field was renamed', 'renamed-field', 3],
  ['a resource was renamed', 'renamed-resource', 3],
  ['the owner field of its deleted record was renamed', 'renamed-owner', 4],
  ['a field was removed', 'removed-field', 2],
  ['a value of an enum was removed', 'removed-value', 2],
  ['fields changed their type', 'changed-type', 2],
  ['timestamps were switched off', 'removed-timestamps', 2],
  ['a reference that is expanded in it was removed', 'removed-reference', 2],
])('a delivery that waits for a retry is sent unchanged after %s', async (_change, resource, requests) => {
  const receiver = receivers.get(resource)!;
  await receiver.received(requests);
  await vi.waitUntil(
    async () => (await logOf(ann, resource)).every(({ status }: { status: string }) => status === 'succeeded'),
    patience,
  );
  const bodies = receiver.requests.map(({ body }) => body);
  expect(bodies.slice(1)).toContain(bodies[0]);
});

test.each([
  ['a field of its body became hidden', 'hidden-field'],
  ['a field of its body was renamed and is now visible to others only', 'renamed-and-hidden'],
  ['the read policy now refuses its owner', 'closed-resource'],
  ['a reference was removed whose record its owner may no longer read', 'unreadable-shelf'],
])('a delivery that waits for a retry is not sent after %s', async (_change, resource) => {
  await vi.waitUntil(async () => (await logOf(ann, resource))[0].status === 'failed', patience);
  expect((await logOf(ann, resource))[0]).toMatchObject({ error: NOT_READABLE, payload: null });
  expect(receivers.get(resource)!.requests).toHaveLength(1);
});

test('an event that waits in the outbox is delivered with the current names of its fields', async () => {
  const receiver = receivers.get('renamed-field')!;
  await receiver.received(3);
  const updated = receiver.requests.map(({ body }) => JSON.parse(body)).filter(({ type }) => type.endsWith('.updated'));
  expect(updated).toMatchObject([{ type: 'renamed-field.updated', data: { headline: 'once' } }]);
});

test('a repeated request gets its stored response after the schema of its body was changed, and a new one is checked', async () => {
  const say = (key: string) => ann('POST', '/api/echo/say', { title: 'once' }, { 'idempotency-key': key });
  expect(await say('one')).toMatchObject({ status: 200, body: { data: { title: 'once' } } });
  expect((await say('two')).status).toBe(422);
});
