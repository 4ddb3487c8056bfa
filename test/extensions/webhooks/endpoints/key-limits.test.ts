import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { apiKeys, defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../fakes/receiver.ts';
import { type Client as Call, createClient, type Person, startTestApp } from '../../../support/app.ts';
import { finishDeliveries } from '../../../support/webhooks/deliveries.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { list: 'owner', read: 'owner' },
});
const story = defineResource('story', {
  path: '/articles',
  fields: { title: f.string(), owner: f.ref('user').owner() },
  policies: { list: 'owner', read: 'owner' },
});
const hidden = defineResource('hidden', { fields: { text: f.string() }, policies: { read: 'admin' }, webhooks: false });

const started = await startTestApp(
  {
    resources: [defineUser({ roles: ['user', 'admin'] }), note, story, hidden],
    extensions: [
      apiKeys({ maxKeysPerUser: 100 }),
      webhooks({
        pollMs: 50,
        retrySchedule: [1000, 60_000],
        maxEndpointsPerUser: 100,
        events: { 'invoice.paid': { schema: z.object({ amount: z.number() }) } },
      }),
    ],
  },
  { roles: 'all' },
);
const { app, env, person, url: base } = started;
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const receivers: Receiver[] = [];
afterAll(async () => {
  await client.end();
  await Promise.all(receivers.map((one) => one.close()));
});

interface Disabled {
  webhook: { id: string };
  owner: string;
  reason: string;
}
const disabled: Disabled[] = [];
app.on('webhook.disabled', (payload) => disabled.push(payload as Disabled));

const until = (condition: () => unknown) => vi.waitUntil(condition, { timeout: 60_000, interval: 20 });
async function receive(): Promise<Receiver> {
  const receiver = await startReceiver();
  receivers.push(receiver);
  return receiver;
}
async function keyOf(who: Pick<Person, 'call'>, ...scopes: string[]) {
  const { status, body } = await who.call('POST', '/api/auth/api-keys', { name: 'script', scopes });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return { id: body.data.id as string, call: createClient(base, body.data.key) };
}
const create = (by: { call: Call }, url: string, events: string[], other: object = {}) =>
  by.call('POST', '/api/webhooks', { url, events, ...other });
const read = async (who: Person, id: string) => (await who.call('GET', `/api/webhooks/${id}`)).body.data;
const LOCAL = 'http://127.0.0.1:9/';

test.each<[string, string[], string[], string | undefined]>([
  ['its own resource', ['webhooks:*', 'notes:read'], ['note.created'], undefined],
  ['every event of its own resource', ['webhooks:*', 'notes:*'], ['note.*'], undefined],
  ['a resource by the name in its path', ['webhooks:*', 'articles:read'], ['story.updated'], undefined],
  ['everything, with the scope read', ['webhooks:write', 'read'], ['*', 'invoice.paid'], undefined],
  ['everything, with the scope *', ['*'], ['*'], undefined],
  ['another resource', ['webhooks:*', 'notes:read'], ['note.created', 'story.created'], 'articles:read'],
  ['every event of another resource', ['webhooks:*', 'notes:read'], ['story.*'], 'articles:read'],
  [
    'a resource whose scope has the name in its path, not its own name',
    ['webhooks:*', 'notes:write'],
    ['note.created'],
    'notes:read',
  ],
  ['any resource, with the scope webhooks only', ['webhooks:*'], ['note.created'], 'notes:read'],
  ['everything, with the scope of one resource', ['webhooks:*', 'notes:read'], ['*'], 'users:read'],
  ['an event of the app, with the scope of one resource', ['webhooks:*', 'notes:read'], ['invoice.paid'], 'read'],
])('a key may subscribe to %s if its scopes include it', async (_, scopes, events, missing) => {
  const ann = await person('Ann');
  const { status, body } = await create(await keyOf(ann, ...scopes), LOCAL, events);
  if (missing === undefined) expect([status, body.data?.events]).toEqual([201, events]);
  else {
    expect([status, body.error.code, body.error.message]).toEqual([
      403,
      'FORBIDDEN',
      `This needs the scope "${missing}"`,
    ]);
    expect((await ann.call('GET', '/api/webhooks')).body.data).toEqual([]);
  }
});

test('an endpoint shows the key that it is bound to, and an endpoint created with a session is bound to none', async () => {
  const ann = await person('Bound');
  const key = await keyOf(ann, 'webhooks:*', 'notes:read');
  const made = (await create(key, LOCAL, ['note.*'])).body.data;
  expect(made).toMatchObject({ apiKeyId: key.id, scopes: ['webhooks:*', 'notes:read'] });
  const own = (await create(ann, LOCAL, ['*'])).body.data;
  expect(own).not.toHaveProperty('apiKeyId');
  expect(own).not.toHaveProperty('scopes');
});

test('the log hides payloads of resources that the key may not read, and shows them to the owner', async () => {
  const ann = await person('Log');
  const receiver = await receive();
  receiver.answer((_, res) => void res.end('thanks for everything'));
  const { id } = (await create(ann, receiver.url, ['note.created', 'story.created'])).body.data;
  await ann.call('POST', '/api/notes', { text: 'private note' });
  await ann.call('POST', '/api/articles', { title: 'a story' });
  await receiver.received(2);
  const log = async (by: { call: Call }) => (await by.call('GET', `/api/webhooks/${id}/deliveries`)).body.data;
  await until(async () => (await log(ann)).every(({ status }: { status: string }) => status === 'succeeded'));
  const whole: { type: string; payload: string }[] = await log(ann);
  expect(whole.find(({ type }) => type === 'note.created')!.payload).toContain('private note');
  const narrow: { type: string; payload: string | null; response: string | null }[] = await log(
    await keyOf(ann, 'webhooks:read', 'articles:read'),
  );
  expect(narrow.map(({ type }) => type)).toEqual(whole.map(({ type }) => type));
  const [hiddenOne, shown] = ['note.created', 'story.created'].map((name) => narrow.find(({ type }) => type === name)!);
  expect(hiddenOne).toMatchObject({ payload: null, payloadTruncated: false, response: null });
  expect(shown!.payload).toContain('a story');
  expect(JSON.stringify(await log(await keyOf(ann, 'webhooks:read')))).not.toMatch(/private note|a story|thanks/);
  expect(await log(await keyOf(ann, 'read'))).toEqual(whole);
});

test('a key may neither change an endpoint that receives more than the key may read, nor send to it', async () => {
  const ann = await person('Door');
  const receiver = await receive();
  const { id } = (await create(ann, receiver.url, ['note.created', 'story.created'])).body.data;
  await ann.call('POST', '/api/notes', { text: 'x' });
  await receiver.received(1);
  const [delivery] = (await ann.call('GET', `/api/webhooks/${id}/deliveries`)).body.data;
  const key = await keyOf(ann, 'webhooks:*', 'articles:read');
  const at = `/api/webhooks/${id}`;
  for (const [method, path, body] of [
    ['PATCH', at, { url: LOCAL }],
    ['PATCH', at, { events: ['story.created'] }],
    ['PATCH', at, { events: ['*'] }],
    ['PATCH', at, { enabled: true }],
    ['PATCH', at, { description: 'mine' }],
    ['POST', `${at}/rotate-secret`, {}],
    ['POST', `${at}/test`, undefined],
    ['POST', `${at}/deliveries/${delivery.id}/retry`, undefined],
    ['POST', `${at}/recover`, { since: new Date().toISOString() }],
  ] as const) {
    const answer = await key.call(method, path, body);
    expect([path, answer.status, answer.body.error.message]).toEqual([path, 403, 'This needs the scope "notes:read"']);
  }
  expect(await read(ann, id)).toMatchObject({ url: receiver.url, events: ['note.created', 'story.created'] });
  expect(await read(ann, id)).not.toHaveProperty('apiKeyId');
  expect(receiver.requests).toHaveLength(1);
  // Deliveries from the time when the endpoint received more stay inaccessible.
  await ann.call('PATCH', at, { events: ['story.created'] });
  expect((await key.call('POST', `${at}/deliveries/${delivery.id}/retry`)).status).toBe(403);
  expect((await key.call('GET', `${at}/explain?event=${delivery.id}`)).status).toBe(200);
  expect((await key.call('DELETE', at)).status).toBe(204);
});

test('an endpoint of a session that a key redirects, enables or gives another secret becomes bound to that key', async () => {
  const ann = await person('Redirect');
  const key = await keyOf(ann, 'webhooks:*', 'notes:read');
  const changes: [string, string, object][] = [
    ['PATCH', '', { url: 'http://127.0.0.1:10/' }],
    ['PATCH', '', { events: ['note.updated'] }],
    ['PATCH', '', { enabled: true }],
    ['POST', '/rotate-secret', {}],
  ];
  for (const [method, path, body] of changes) {
    const { id } = (await create(ann, LOCAL, ['note.created'])).body.data;
    expect(
      (await key.call('PATCH', `/api/webhooks/${id}`, { description: 'x', enabled: false })).body.data,
    ).not.toHaveProperty('apiKeyId');
    const changed = await key.call(method, `/api/webhooks/${id}${path}`, body);
    expect([path, changed.status, changed.body.data.apiKeyId]).toEqual([path, 200, key.id]);
  }
});

test('a key may not change an endpoint that is bound to another key, nor widen its own endpoint or remove its binding', async () => {
  const ann = await person('Other');
  const [key, other] = [await keyOf(ann, 'webhooks:*', 'notes:read'), await keyOf(ann, '*')];
  const { id } = (await create(key, LOCAL, ['note.created'])).body.data;
  const patch = (by: { call: Call }, body: object) => by.call('PATCH', `/api/webhooks/${id}`, body);
  expect((await patch(other, { url: 'http://127.0.0.1:10/' })).status).toBe(403);
  expect((await other.call('POST', `/api/webhooks/${id}/rotate-secret`, {})).status).toBe(403);
  expect((await patch(key, { events: ['note.created', 'story.created'] })).body.error.message).toBe(
    'This needs the scope "articles:read"',
  );
  expect((await patch(key, { apiKeyId: null })).status).toBe(403);
  expect((await patch(key, { events: ['note.*'] })).status).toBe(200);
  // The owner's session stays within the scopes until it removes the binding.
  const refused = await patch(ann, { events: ['*'] });
  expect([refused.status, refused.body.error.details.events]).toEqual([422, expect.stringContaining('notes:read')]);
  expect((await patch(ann, { url: 'http://127.0.0.1:11/' })).body.data.apiKeyId).toBe(key.id);
  const lifted = await patch(ann, { apiKeyId: null, events: ['*'] });
  expect(lifted.body.data).toMatchObject({ events: ['*'] });
  expect(lifted.body.data).not.toHaveProperty('apiKeyId');
});

test('a key that redirects an endpoint gets no waiting or failed deliveries of resources that it may not read', async () => {
  const ann = await person('Siphon');
  const [receiver, theirs] = [await receive(), await receive()];
  receiver.answer(500);
  const { id } = (await create(ann, receiver.url, ['note.created', 'story.created'])).body.data;
  const at = `/api/webhooks/${id}`;
  const since = new Date(Date.now() - 60_000).toISOString();
  const log = async () =>
    (await ann.call('GET', `${at}/deliveries`)).body.data as { id: string; type: string; status: string }[];
  await ann.call('POST', '/api/notes', { text: 'fails for good' });
  await receiver.received(1);
  await until(async () => (await log())[0]?.status === 'pending');
  expect(await finishDeliveries(client, 'failed', 'endpoint_id = $1', [id])).toBe(1);
  await ann.call('POST', '/api/notes', { text: 'waits' });
  await ann.call('POST', '/api/articles', { title: 'theirs' });
  await receiver.received(3);
  await ann.call('PATCH', at, { events: ['story.created'] });

  const key = await keyOf(ann, 'webhooks:*', 'articles:read');
  expect((await key.call('PATCH', at, { url: theirs.url })).body.data).toMatchObject({ apiKeyId: key.id });
  expect((await key.call('POST', `${at}/recover`, { since })).status).toBe(202);
  // Waiting deliveries become due now, and the owner may request them too.
  const sendWaiting = () =>
    client.query(
      `update webhook_deliveries set next_attempt_at = now() where endpoint_id = $1 and status = 'pending'`,
      [id],
    );
  await until(async () => {
    await sendWaiting();
    const isRefused = (await log()).every(({ type, status }) => type !== 'note.created' || status === 'failed');
    return isRefused && theirs.requests.length > 0;
  });
  for (const { id: delivery, type } of await log()) {
    if (type === 'note.created') await ann.call('POST', `${at}/deliveries/${delivery}/retry`);
  }
  await ann.call('POST', '/api/articles', { title: 'last' });
  await until(() => theirs.requests.some(({ body }) => body.includes('last')));
  await until(async () => (await log()).every(({ status }) => status === 'failed' || status === 'succeeded'));
  expect(theirs.requests.map(({ body }) => JSON.parse(body).type)).not.toContain('note.created');
});

const apiKeysOf = (made: object) => (made as { apiKeys: { revoke(id: string): Promise<boolean> } }).apiKeys;
const ends: [string, (who: Person, key: { id: string }) => Promise<unknown>][] = [
  ['its owner revokes it', (who, { id }) => who.call('DELETE', `/api/auth/api-keys/${id}`)],
  [
    'an admin revokes it',
    async (_, { id }) => (await person('Root', ['admin'])).call('DELETE', `/api/admin/api-keys/${id}`),
  ],
  ['code revokes it', async (_, { id }) => apiKeysOf(app).revoke(id)],
  [
    'it expires',
    (_, { id }) =>
      client.query(
        `with key as (update api_keys set expires_at = now() where id = $1)
         update webhook_endpoints set key_expires_at = now() where api_key_id = $1`,
        [id],
      ),
  ],
];

test.each(ends)('an endpoint is disabled as soon as its key ends because %s', async (_, end) => {
  const ann = await person('Ends');
  const receiver = await receive();
  receiver.answer(500);
  const key = await keyOf(ann, 'webhooks:*', 'notes:*');
  const { id } = (await create(key, receiver.url, ['note.created'])).body.data;
  await ann.call('POST', '/api/notes', { text: 'x' });
  await receiver.received(1);
  await end(ann, key);
  const sent = receiver.requests.length;
  await ann.call('POST', '/api/notes', { text: 'y' });
  await until(async () => (await read(ann, id)).status === 'disabled');
  expect(await read(ann, id)).toMatchObject({ enabled: false, disabledReason: 'key_ended', apiKeyId: key.id });
  await until(() => disabled.some(({ webhook }) => webhook.id === id));
  expect(disabled.filter(({ webhook }) => webhook.id === id)).toMatchObject([{ owner: ann.id, reason: 'key_ended' }]);
  // The first e-mail, about the created endpoint, may arrive only now.
  const mails = async () => (await app.captured.mails()).filter(({ to }) => to === ann.email);
  await until(async () => (await mails()).some(({ text }) => text.includes('API key that was revoked or has expired')));
  expect(receiver.requests.length).toBe(sent);
  expect((await ann.call('POST', `/api/webhooks/${id}/test`)).status).toBe(400);

  // Another key cannot enable the endpoint again. The owner can, and it is then no longer bound to a key.
  const other = await keyOf(ann, '*');
  expect((await other.call('PATCH', `/api/webhooks/${id}`, { enabled: true })).status).toBe(403);
  const enabled = await ann.call('PATCH', `/api/webhooks/${id}`, { enabled: true });
  expect(enabled.body.data).toMatchObject({ enabled: true, disabledReason: null });
  expect(enabled.body.data).not.toHaveProperty('apiKeyId');
  receiver.answer(204);
  await ann.call('POST', '/api/notes', { text: 'z' });
  await receiver.received(sent + 1);
});

test('waiting deliveries are not sent after the key has expired', async () => {
  const ann = await person('Claim');
  const receiver = await receive();
  const key = await keyOf(ann, 'webhooks:*', 'notes:*');
  const { id } = (await create(key, receiver.url, ['note.created'])).body.data;
  // The endpoint keeps the expiry itself. The sweep looks at the key, which has not expired, and leaves the endpoint enabled.
  await client.query('update webhook_endpoints set key_expires_at = now() where id = $1', [id]);
  await ann.call('POST', '/api/notes', { text: 'x' });
  const log = async () => (await ann.call('GET', `/api/webhooks/${id}/deliveries`)).body.data;
  await until(async () => (await log()).length === 1);
  const marker = await receive();
  await create(ann, marker.url, ['note.created']);
  await ann.call('POST', '/api/notes', { text: 'y' });
  await marker.received(1);
  expect(receiver.requests).toEqual([]);
  expect((await read(ann, id)).enabled).toBe(true);
  await client.query(`update webhook_endpoints set key_expires_at = now() + interval '1 day' where id = $1`, [id]);
  await receiver.received(2);
});

test('an endpoint stores the expiry of its key', async () => {
  const ann = await person('Expiry');
  const { body } = await ann.call('POST', '/api/auth/api-keys', { name: 'k', scopes: ['*'], expiresInDays: 3 });
  const made = await create({ call: createClient(base, body.data.key) }, LOCAL, ['*']);
  const { rows } = await client.query(
    'select key_expires_at = k.expires_at as same from webhook_endpoints e join api_keys k on k.id = e.api_key_id where e.id = $1',
    [made.body.data.id],
  );
  expect(rows).toEqual([{ same: true }]);
});
