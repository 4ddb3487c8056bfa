import { Client } from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { defineUser } from '../../../src/index.ts';
import { createClient, type Person, startTestApp } from '../../support/app.ts';
import { waitUntilBlockedBy } from '../../support/database/blocked-by.ts';

const DEVICES = '/api/auth/devices';
const opened: unknown[] = [];
const run = await startTestApp({
  resources: [defineUser()],
  listeners: (app) => app.on('push.opened', (payload) => opened.push(payload)),
});
const lasting = await startTestApp(
  { resources: [defineUser()], settings: { auth: { devicesFollowSessions: false } } },
  { roles: 'all' },
);
const sql = new Client({ connectionString: run.env.DATABASE_URL });
await sql.connect();
let count = 0;
const newToken = () => `token-${++count}-0123456789abcdefghijklmnopqrstuvwxyz`;

afterAll(() => sql.end());

async function register(who: Person, more: object = {}) {
  return who.call('POST', DEVICES, { token: newToken(), platform: 'android', ...more });
}

/** Starts a second session of the same user. */
async function another(who: Person): Promise<Person> {
  const { body } = await run.call('POST', '/api/auth/login', { email: who.email, password: 'correct horse battery' });
  return { ...who, token: body.data.token, call: createClient(run.url, body.data.token) };
}

test.each([
  ['GET', '/api/devices', 404],
  ['GET', '/api/devices/:id', 404],
  ['DELETE', '/api/devices/:id', 404],
  ['GET', `${DEVICES}/:id`, 405],
  ['PATCH', `${DEVICES}/:id`, 405],
  ['PUT', `${DEVICES}/:id`, 405],
  ['PATCH', DEVICES, 405],
  ['PUT', DEVICES, 405],
])('devices have no other routes: %s %s', async (method, path, expected) => {
  const ann = await run.person('Ann');
  const { id } = (await register(ann)).body.data;
  expect((await ann.call(method, path.replace(':id', id), method === 'GET' ? undefined : {})).status).toBe(expected);
});

test('a registration responds 201 with the device and its masked token', async () => {
  const ann = await run.person('Ann');
  const token = newToken();
  const sent = { token, platform: 'ios', name: 'Ann’s phone', appVersion: '1.2.3', locale: 'de-AT' };
  const { status, body } = await ann.call('POST', DEVICES, sent);
  expect(status).toBe(201);
  expect(body.data).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{24}$/),
    platform: 'ios',
    name: 'Ann’s phone',
    appVersion: '1.2.3',
    locale: 'de-AT',
    token: expect.stringMatching(/^tok.*…/),
    signedIn: true,
    createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    lastSeenAt: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  expect(JSON.stringify(body)).not.toContain(token);
  expect((await ann.call('GET', DEVICES)).body).toEqual({ data: [body.data] });
});

test('every device route requires a signed-in user', async () => {
  const id = '0'.repeat(24);
  const routes = [
    ['POST', DEVICES],
    ['GET', DEVICES],
    ['DELETE', `${DEVICES}/${id}`],
    ['POST', `${DEVICES}/unregister`],
    ['POST', `${DEVICES}/opened`],
  ] as const;
  for (const [method, path] of routes) {
    expect((await run.call(method, path, method === 'POST' ? {} : undefined)).status, `${method} ${path}`).toBe(401);
  }
});

describe('a registration is refused with 422', () => {
  const web = (endpoint: string) => JSON.stringify({ endpoint, keys: { p256dh: 'x', auth: 'y' } });
  test.each<[string, object, Record<string, string>]>([
    ['without token and platform', {}, { token: 'Is required', platform: 'Is required' }],
    ['with an empty token', { token: ' ', platform: 'ios' }, { token: 'Is required' }],
    ['with a token that is not a string', { token: 5, platform: 'ios' }, { token: 'Must be a string' }],
    ['for another platform', { token: 'x', platform: 'symbian' }, { platform: 'Must be one of: ios, android, web' }],
    [
      'for a simulated device',
      { token: 'sim_1', platform: 'ios' },
      { token: expect.stringContaining('sim_') as never },
    ],
    [
      'for a simulated device behind spaces',
      { token: ' sim_1', platform: 'ios' },
      { token: expect.anything() as never },
    ],
    ['with an unknown field', { token: 'x', platform: 'ios', userId: 'y' }, { userId: 'Unknown field' }],
    [
      'with a token too long',
      { token: 'x'.repeat(4097), platform: 'ios' },
      { token: 'Must be at most 4096 characters' },
    ],
    [
      'with NUL in the token',
      { token: 'a\0b', platform: 'ios' },
      { token: 'Must not contain NUL or broken characters' },
    ],
    [
      'with half a surrogate pair in the name',
      { token: 'x', platform: 'ios', name: '\ud800' },
      { name: expect.anything() as never },
    ],
    [
      'with a name too long',
      { token: 'x', platform: 'ios', name: 'n'.repeat(101) },
      { name: 'Must be at most 100 characters' },
    ],
    [
      'with a locale too long',
      { token: 'x', platform: 'ios', locale: 'n'.repeat(36) },
      { locale: expect.anything() as never },
    ],
    [
      'for a browser with a plain token',
      { token: 'x', platform: 'web' },
      { token: expect.stringContaining('PushSubscription') as never },
    ],
    [
      'for a browser with an http endpoint',
      { token: web('http://a.example/1'), platform: 'web' },
      { token: expect.anything() as never },
    ],
  ])('%s', async (_, body, details) => {
    const ann = await run.person('Ann');
    const response = await ann.call('POST', DEVICES, body);
    expect(response.status).toBe(422);
    expect(response.body.error).toMatchObject({ code: 'VALIDATION_ERROR', details });
    expect((await ann.call('GET', DEVICES)).body.data).toEqual([]);
  });
});

test('a token of the maximum length is accepted', async () => {
  const ann = await run.person('Ann');
  expect((await register(ann, { token: `${newToken()}-`.padEnd(4096, 'é') })).status).toBe(201);
});

test('a known token moves to the user and session that registered it last, without data of the previous user', async () => {
  const [ann, ben] = [await run.person('Ann'), await run.person('Ben')];
  const token = newToken();
  const first = await register(ann, { token, name: 'Ann’s phone', locale: 'de' });
  const second = await register(ben, { token });
  expect(second.body.data).toMatchObject({ name: null, locale: null, signedIn: true });
  expect((await ann.call('GET', DEVICES)).body.data).toEqual([]);
  expect((await ben.call('GET', DEVICES)).body.data).toHaveLength(1);
  expect(second.body.data.createdAt > first.body.data.createdAt).toBe(true);

  await ann.call('POST', '/api/auth/logout');
  expect((await ben.call('GET', DEVICES)).body.data).toHaveLength(1);
  await ben.call('POST', '/api/auth/logout');
  const { rows } = await sql.query('select 1 from devices where id = $1', [second.body.data.id]);
  expect(rows).toEqual([]);
});

test.each([
  ['android', 'ios'],
  ['ios', 'web'],
] as const)('a token known as %s moves to the user who registers it as %s', async (first, second) => {
  const [ann, ben] = [await run.person('Ann'), await run.person('Ben')];
  const endpoint = `https://push.example.com/${newToken()}`;
  const token = second === 'web' ? JSON.stringify({ endpoint, keys: { p256dh: 'x', auth: 'y' } }) : newToken();
  expect((await register(ann, { token, platform: first })).status).toBe(201);
  const moved = await register(ben, { token, platform: second });
  expect(moved.body.data).toMatchObject({ platform: second, signedIn: true });
  expect((await ann.call('GET', DEVICES)).body.data).toEqual([]);
  expect((await ben.call('GET', DEVICES)).body.data).toEqual([moved.body.data]);
});

test('registering the same token again updates the existing device', async () => {
  const ann = await run.person('Ann');
  const token = newToken();
  const first = await register(ann, { token, name: 'old' });
  const second = await register(await another(ann), { token, name: 'new' });
  expect(second.body.data).toMatchObject({ id: first.body.data.id, createdAt: first.body.data.createdAt, name: 'new' });
  await ann.call('POST', '/api/auth/logout');
  expect((await sql.query('select 1 from devices where id = $1', [first.body.data.id])).rows).toHaveLength(1);
});

test('a token that many users register at once, under several platforms, becomes one device of one user', async () => {
  const people = await Promise.all(['A', 'B', 'C', 'D'].map((name) => run.person(name)));
  const token = newToken();
  const platforms = ['android', 'ios'];
  const responses = await Promise.all(
    people.flatMap((who) => platforms.map((platform) => register(who, { token, platform }))),
  );
  expect(responses.map((response) => response.status)).toEqual(responses.map(() => 201));
  const lists = await Promise.all(people.map((who) => who.call('GET', DEVICES)));
  expect(lists.flatMap((list) => list.body.data)).toHaveLength(1);
});

test('a user has at most 100 devices: registering one more removes the one seen longest ago', async () => {
  const ann = await run.person('Ann');
  const ids: string[] = [];
  for (let i = 0; i < 100; i++) ids.push((await register(ann)).body.data.id);
  expect((await ann.call('GET', DEVICES)).body.data).toHaveLength(100);
  await sql.query(`update devices set last_seen_at = now() - interval '1 hour' where id = $1`, [ids[42]]);
  const { id } = (await register(ann)).body.data;
  const listed: string[] = (await ann.call('GET', DEVICES)).body.data.map((device: { id: string }) => device.id);
  expect(listed.toSorted()).toEqual([...ids.filter((each) => each !== ids[42]), id].toSorted());
});

test('logout removes only the devices of that session', async () => {
  const ann = await run.person('Ann');
  const second = await another(ann);
  await register(ann);
  const kept = await register(second);
  await ann.call('POST', '/api/auth/logout');
  expect((await second.call('GET', DEVICES)).body.data.map(({ id }: { id: string }) => id)).toEqual([
    kept.body.data.id,
  ]);
});

test('a device whose session ends while it is registered is refused with 401, and none is stored', async () => {
  const ann = await run.person('Ann');
  await sql.query('begin');
  await sql.query('delete from sessions where user_id = $1', [ann.id]);
  const registering = register(ann);
  // The registration has found the session, and waits for the end of the logout.
  await waitUntilBlockedBy(sql);
  await sql.query('commit');
  const { status, body } = await registering;
  expect([status, body.error.code]).toEqual([401, 'UNAUTHORIZED']);
  expect((await sql.query('select 1 from devices where user_id = $1', [ann.id])).rowCount).toBe(0);
});

test('devices of an expired session are not listed', async () => {
  const ann = await run.person('Ann');
  const second = await another(ann);
  await register(ann);
  await sql.query(
    `update sessions set expires_at = now() - interval '1 second'
    where id = (select session_id from devices where user_id = $1)`,
    [ann.id],
  );
  expect((await second.call('GET', DEVICES)).body.data).toEqual([]);
});

test('only the owner can remove a device; other users and malformed ids get 404', async () => {
  const [ann, ben] = [await run.person('Ann'), await run.person('Ben', ['admin'])];
  const { id } = (await register(ann)).body.data;
  for (const [who, path] of [
    [ben, id],
    [ann, `${id}0`],
    [ann, 'nonsense'],
    [ann, '%00'],
    [ann, '0'.repeat(24)],
  ] as const) {
    expect((await who.call('DELETE', `${DEVICES}/${path}`)).status, path).toBe(404);
  }
  expect((await ann.call('DELETE', `${DEVICES}/${id}`)).status).toBe(204);
  expect((await ann.call('DELETE', `${DEVICES}/${id}`)).status).toBe(404);
});

test('unregister removes the caller’s device with that token, and responds the same for unknown tokens and other users’ tokens', async () => {
  const [ann, ben] = [await run.person('Ann'), await run.person('Ben')];
  const token = newToken();
  await register(ann, { token });
  const unregister = (who: Person, body: object) => who.call('POST', `${DEVICES}/unregister`, body);
  expect((await unregister(ben, { token })).status).toBe(204);
  expect((await unregister(ben, { token: 'unknown' })).status).toBe(204);
  expect((await ann.call('GET', DEVICES)).body.data).toHaveLength(1);
  expect((await unregister(ann, { token })).status).toBe(204);
  expect((await ann.call('GET', DEVICES)).body.data).toEqual([]);
  expect((await unregister(ann, {})).body.error.details).toEqual({ token: 'Is required' });
  expect((await unregister(ann, { token, all: true })).body.error.details).toEqual({ all: 'Unknown field' });
});

test('a reported tap emits push.opened with the device of the session and the url in its data', async () => {
  const ann = await run.person('Ann');
  const device = (await register(ann)).body.data.id;
  const pushId = 'a'.repeat(24);
  opened.length = 0;
  const response = await ann.call('POST', `${DEVICES}/opened`, { pushId, data: { url: '/posts/1', n: 1 } });
  expect(response.status).toBe(204);
  expect(opened).toEqual([
    { id: pushId, user: ann.id, device, url: '/posts/1', data: { url: '/posts/1', n: 1 }, simulated: false },
  ]);
});

test('a tap without data from a session without a device still emits the event', async () => {
  const ann = await run.person('Ann');
  opened.length = 0;
  expect((await ann.call('POST', `${DEVICES}/opened`, {})).status).toBe(204);
  expect((await ann.call('POST', `${DEVICES}/opened`, { data: { url: 5 } })).status).toBe(204);
  expect(opened).toEqual([
    { id: null, user: ann.id, device: null, url: null, data: {}, simulated: false },
    { id: null, user: ann.id, device: null, url: null, data: { url: 5 }, simulated: false },
  ]);
});

test.each([
  ['a malformed push id', { pushId: 'x' }, 'pushId'],
  ['data that is not an object', { data: [1] }, 'data'],
  ['data of more than 4 KB', { data: { text: 'x'.repeat(4096) } }, 'data'],
  ['NUL in its data', { data: { deep: [{ text: 'a\0b' }] } }, 'data'],
  ['an unknown field', { device: 'x' }, 'device'],
])('a tap with %s is refused with 422', async (_, body, field) => {
  const ann = await run.person('Ann');
  const response = await ann.call('POST', `${DEVICES}/opened`, body);
  expect(response.status).toBe(422);
  expect(Object.keys(response.body.error.details)).toEqual([field]);
});

test('with auth.devicesFollowSessions off, a device stays when its session ends', async () => {
  const ann = await lasting.person('Ann');
  const { body } = await ann.call('POST', DEVICES, { token: 'a-token', platform: 'ios' });
  expect(body.data.signedIn).toBe(false);
  await ann.call('POST', '/api/auth/logout');
  const result = await lasting.app.push.send({ to: ann.id, title: 'Still there' });
  expect(result).toMatchObject({ status: 'captured', devices: 1, results: [{ device: body.data.id, ok: true }] });
});

test('a tap is stored with the push if only one device of the user received it', async () => {
  const [ann, admin] = [await lasting.person('Ann'), await lasting.person('Ada', ['admin'])];
  const register = (token: string) => ann.call('POST', DEVICES, { token, platform: 'ios' });
  const opened = async (id: string) => (await admin.call('GET', `/api/push/${id}`)).body.data.counts.opened;
  const [first] = [await register('first-token'), await register('second-token')];
  const { id: one } = await lasting.app.push.send({ deviceIds: [first.body.data.id], title: 'Hi' });
  const { id: both } = await lasting.app.push.send({ to: ann.id, title: 'Hi' });
  for (const pushId of [both, one]) await ann.call('POST', `${DEVICES}/opened`, { pushId });
  await expect.poll(() => opened(one)).toBe(1);
  expect(await opened(both)).toBe(0);
});
