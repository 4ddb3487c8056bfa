import { expect, test } from 'vitest';
import { apiKeys, defineUser } from '../../src/index.ts';
import { createPush } from '../../src/push/index.ts';
import type { Transport } from '../../src/push/message/transport.ts';
import { createClient, type Person, startTestApp } from '../support/app.ts';
import { generateVapidKeys } from '../support/vapid-keys.ts';
import { openPlatform } from './platform.ts';

let answer: Transport['send'];
const phone: Transport = {
  name: 'phone',
  accepts: ({ platform }) => platform === 'ios',
  send: (...args) => answer(...args),
};
const accepting: Transport['send'] = (_message, devices) => devices.map((_, i) => ({ ok: true, id: `p-${i}` }));
const { app, url, call, person, env } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [apiKeys()],
    transports: [phone],
  },
  { roles: 'all' },
);
const admin = await person('Ada', ['admin']);
answer = accepting;

let count = 0;
async function register(who: Person): Promise<string> {
  const token = `token-${++count}-0123456789abcdefghijklmnopqrst`;
  return (await who.call('POST', '/api/auth/devices', { token, platform: 'ios' })).body.data.id;
}
const keyOf = async (who: Person, scopes: string[]) => {
  const { body } = await who.call('POST', '/api/auth/api-keys', { name: 'k', scopes });
  return createClient(url, body.data.key);
};

test('an admin sends a push and gets the result', async () => {
  const ann = await person('Ann');
  const device = await register(ann);
  const { status, body } = await admin.call('POST', '/api/push', { to: ann.id, title: 'Hi' });
  expect([status, body.data]).toEqual([
    201,
    { id: expect.any(String), status: 'sent', devices: 1, results: [{ device, ok: true, id: 'p-0' }] },
  ]);
});

test.each(['POST /api/push', 'GET /api/push/000000000000000000000000'])(
  '%s requires the admin role, and an API key needs the scope',
  async (route) => {
    const [method, path] = route.split(' ') as [string, string];
    const body = method === 'POST' ? { tokens: ['a'], platform: 'ios', title: 'Hi' } : undefined;
    const ann = await person('Ann');
    const allowed = method === 'POST' ? 201 : 404;
    expect((await call(method, path, body)).status).toBe(401);
    expect((await ann.call(method, path, body)).status).toBe(403);
    expect((await (await keyOf(ann, ['push:send']))(method, path, body)).status).toBe(403);
    const narrow = await (await keyOf(admin, ['read']))(method, path, body);
    expect([narrow.status, narrow.body.error.message]).toEqual([403, 'This needs the scope "push:send"']);
    expect((await (await keyOf(admin, ['push:send']))(method, path, body)).status).toBe(allowed);
  },
);

test('an invalid message returns 422 with a message per field, and so does a body that is not a message', async () => {
  const wrong = await admin.call('POST', '/api/push', { to: 'x', titel: 'Hi' });
  expect([wrong.status, wrong.body.error.details]).toEqual([422, { to: 'Must be an id', titel: 'Unknown field' }]);
  expect((await admin.call('POST', '/api/push', '[]')).body.error.details).toEqual({ message: 'Must be an object' });
});

test('a request repeated with the same Idempotency-Key is sent once', async () => {
  const ann = await person('Ann');
  await register(ann);
  let calls = 0;
  answer = (...args) => {
    calls += 1;
    return accepting(...args);
  };
  const send = () => admin.call('POST', '/api/push', { to: ann.id, title: 'Hi' }, { 'idempotency-key': 'once-1' });
  const [first, second] = [await send(), await send()];
  expect([second.status, second.body]).toEqual([first.status, first.body]);
  expect(calls).toBe(1);
  answer = accepting;
});

test('the timeline of a device shows the events in order; tokens are masked', async () => {
  const ann = await person('Ann');
  const device = await register(ann);
  const { id } = await app.push.send({
    to: ann.id,
    tokens: ['raw-token-0123456789-abcdefgh'],
    platform: 'ios',
    title: 'Hi',
    ttl: 60,
  });
  await app.push.receipt(id, device, { ok: false, error: 'Throttled' });
  expect((await ann.call('POST', '/api/auth/devices/opened', { pushId: id })).status).toBe(204);
  const read = async () => (await admin.call('GET', `/api/push/${id}`)).body;
  await expect.poll(async () => (await read()).data.counts.opened).toBe(1);
  const { data } = await read();
  expect(data).toMatchObject({
    id,
    status: 'sent',
    message: { to: ann.id, title: 'Hi', ttl: 60, sound: 'default', priority: 'high' },
    expiresAt: expect.any(String),
    finishedAt: expect.any(String),
    counts: { devices: 2, queued: 0, accepted: 2, failed: 0, retrying: 0, receipts: 1, receiptsFailed: 1, opened: 1 },
  });
  expect(JSON.stringify(data)).not.toMatch(/raw-token-0123|token-\d+-0123/);
  expect(data.page).toEqual({ total: 2, page: 1, limit: 20, pages: 1 });
  const [own, raw] = data.devices;
  const common = { platform: 'ios', transport: 'phone', ok: true, error: null, token: expect.stringContaining('…') };
  expect(own).toMatchObject({ ...common, device, user: ann.id });
  expect(raw).toMatchObject({ ...common, device: null, user: null });
  const at = expect.any(String);
  expect(own.timeline).toEqual([
    { at, event: 'queued' },
    { at, event: 'sent' },
    { at, event: 'accepted', id: 'p-0' },
    { at, event: 'receipt', ok: false, error: 'Throttled' },
    { at, event: 'opened' },
  ]);
  const times = own.timeline.map((entry: { at: string }) => entry.at);
  expect(times).toEqual(times.toSorted());
});

test('a tap is recorded for the device that got the push, and for no other device', async () => {
  const [ann, ben] = [await person('Ann'), await person('Ben')];
  await register(ann);
  await register(ben);
  const { id } = await app.push.send({ to: ann.id, title: 'Hi' });
  await ben.call('POST', '/api/auth/devices/opened', { pushId: id });
  await ann.call('POST', '/api/auth/devices/opened', { pushId: id });
  await expect.poll(async () => (await admin.call('GET', `/api/push/${id}`)).body.data.counts.opened).toBe(1);
});

test('the list of devices is paginated', async () => {
  const tokens = Array.from({ length: 7 }, (_, i) => `paged-${i}`);
  const { id } = await app.push.send({ tokens, platform: 'ios', title: 'Hi' });
  const second = await admin.call('GET', `/api/push/${id}?page=3&limit=3`);
  expect(second.body.data.page).toEqual({ total: 7, page: 3, limit: 3, pages: 3 });
  expect(second.body.data.devices).toHaveLength(1);
});

test.each([
  ['limit=101', 'limit must be a whole number from 1 to 100'],
  ['limit=1.5', 'limit must be a whole number from 1 to 100'],
  ['page=0', 'page must be a whole number from 1 to 100000'],
  ['page=1&page=2', 'page must be a whole number from 1 to 100000'],
  ['colour=red', 'Unknown query parameter "colour"'],
])('?%s returns 400', async (query, message) => {
  const { id } = await app.push.send({ tokens: ['a'], platform: 'ios', title: 'Hi' });
  const answered = await admin.call('GET', `/api/push/${id}?${query}`);
  expect([answered.status, answered.body.error.message]).toEqual([400, message]);
});

test.each(['x', '0'.repeat(24), 'A'.repeat(24)])('a malformed or unknown id returns 404: %s', async (id) => {
  expect((await admin.call('GET', `/api/push/${id}`)).status).toBe(404);
});

test('if a user registers more than 100 devices, the least recently seen ones are removed', async () => {
  const ann = await person('Ann');
  const ids: string[] = [];
  for (let i = 0; i < 2; i++) ids.push(await register(ann));
  // A hundred at once would wait for each other longer than a request may.
  for (let round = 0; round < 14; round++)
    ids.push(...(await Promise.all(Array.from({ length: 7 }, () => register(ann)))));
  for (let i = 0; i < 2; i++) ids.push(await register(ann));
  const { body } = await ann.call('GET', '/api/auth/devices');
  expect(body.data.map((device: { id: string }) => device.id).toSorted()).toEqual(ids.slice(2).toSorted());
});

const { publicKey, privateKey } = generateVapidKeys();
const VAPID = {
  VAPID_PUBLIC_KEY: publicKey,
  VAPID_PRIVATE_KEY: privateKey,
  VAPID_SUBJECT: 'mailto:push@example.com',
};

test.each([
  ['VAPID keys and the transport web-push', VAPID, 'web-push', ['/push/client.js', '/push/sw.js', '/push/key.js']],
  ['VAPID keys and no transport web-push', VAPID, 'other', []],
  ['a transport web-push of its own and no VAPID keys', {}, 'web-push', []],
])('an app with %s serves the right pages to browsers', async (_, variables, name, paths) => {
  const platform = await openPlatform({ ...env, ...variables });
  try {
    expect(createPush(platform, [{ name, send: accepting }]).parts.pages!.map(({ path }) => path)).toEqual(paths);
  } finally {
    await platform.close();
  }
});
