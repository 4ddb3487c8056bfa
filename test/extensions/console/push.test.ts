import { describe, expect, test } from 'vitest';
import { adminConsole, audit, defineUser } from '../../../src/index.ts';
import { type ApiResponse, type Client, startTestApp } from '../../support/app.ts';

const { app, call, person } = await startTestApp(
  { resources: [defineUser()], extensions: [adminConsole()] },
  { roles: 'all' },
);
const API = '/console/api/push';
const NO_ID = '000000000000000000000000';

const registerPhone = async (owner: { call: Client }, token: string): Promise<string> => {
  const { body } = await owner.call('POST', '/api/auth/devices', { token, platform: 'android', name: 'Real phone' });
  return body.data.id;
};

describe('the simulator', () => {
  test('has each device with its notifications, and neither tokens nor passwords', async () => {
    expect((await call('GET', `${API}/simulator`)).body.data).toEqual({ devices: [], hasUsers: false });
    const ann = await person('Ann');
    const { id } = await app.simulated!.create({ user: ann.id, name: 'Phone' });
    await app.push.send({ to: ann.id, title: 'Hi' });
    const { body, headers } = await call('GET', `${API}/simulator`);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body.data).toMatchObject({
      devices: [{ id, user: ann.id, notifications: [{ state: 'shown', message: { title: 'Hi' } }] }],
      hasUsers: true,
    });
    expect(JSON.stringify(body)).not.toMatch(/sim_[0-9a-f]{32}|correct horse/);
  });

  test('sends to simulated devices only', async () => {
    const ben = await person('Ben');
    const real = await registerPhone(ben, 'a-real-token-0123456789');
    const phone = await call('POST', `${API}/simulator/devices`, { user: ben.id, name: 'Phone' });
    const { id } = phone.body.data;
    const send = (deviceIds: string[], content: object) =>
      call('POST', `${API}/simulator/sends`, { deviceIds, content });
    expect((await send([id], { title: 'Hi' })).body.data).toMatchObject({ status: 'sent', devices: 1 });
    const refused = [
      await send([id, real], { title: 'Hi' }),
      await send([id], { title: 'Hi', to: ben.id }),
      await send([id], { title: 'Hi', tokens: ['x'] }),
      await send([], { title: 'Hi' }),
      await send([id], { title: 5 }),
    ];
    const fields = refused.map(({ status, body }) => [status, ...Object.keys(body.error.details)]);
    expect(fields).toEqual([
      [422, 'deviceIds'],
      [422, 'to'],
      [422, 'tokens'],
      [422, 'deviceIds'],
      [422, 'title'],
    ]);
  });

  test.each([
    ['PATCH', '/simulator/devices/nope', { behavior: 'offline' }, 404],
    ['PATCH', `/simulator/devices/${NO_ID}`, { behavior: 'explodes' }, 422],
    ['DELETE', `/simulator/devices/${NO_ID}`, undefined, 404],
    ['POST', '/simulator/opened', { notification: 'nope' }, 404],
    ['POST', '/simulator/opened', {}, 422],
    ['POST', '/simulator/devices', { user: 'nope' }, 422],
    ['POST', '/simulator/devices', [], 422],
    ['PUT', '/simulator/sends', {}, 405],
    ['GET', '/../../index.ts', undefined, 404],
    ['GET', '/sends?status=lost', undefined, 400],
    ['GET', '/sends?after=nope', undefined, 400],
    ['GET', '/sends?limit=5', undefined, 400],
    ['GET', '/sends/nope', undefined, 404],
    ['GET', `/sends/${NO_ID}`, undefined, 404],
    ['GET', `/sends/${NO_ID}?page=0`, undefined, 400],
    ['GET', '/devices?platform=windows', undefined, 400],
    ['GET', '/devices?user=%00', undefined, 400],
    ['GET', '/devices/nope', undefined, 404],
    ['DELETE', `/devices/${NO_ID}`, undefined, 404],
    ['POST', `/devices/${NO_ID}/test`, { title: 'Hi' }, 404],
    ['POST', `/devices/${NO_ID}/test`, { title: 5 }, 422],
    ['POST', `/devices/${NO_ID}/test`, { title: 'Hi', to: 'everyone' }, 422],
  ])('invalid requests get error responses like those of the API: %s %s', async (method, path, body, status) => {
    const response = await call(method, API + path, body);
    expect(response.status).toBe(status);
    expect(response.body.error.code).toEqual(expect.any(String));
  });
});

const rowOf = async (id: string) =>
  (await call('GET', `${API}/sends`)).body.data.find((one: { id: string }) => one.id === id);

test('sends are listed newest first with their audience and results, and filtered by status', async () => {
  const cleo = await person('Cleo');
  await app.simulated!.create({ user: cleo.id, name: 'Phone' });
  await app.simulated!.create({ user: cleo.id, name: 'Sold', behavior: 'app-uninstalled' });
  const partial = await app.push.send({ to: cleo.id, title: 'First', body: 'Text', data: { secret: 'not listed' } });
  const none = await app.push.send({ to: [NO_ID, NO_ID.replace(/.$/, '1')], title: 'To no one' });
  expect(await rowOf(partial.id)).toEqual({
    id: partial.id,
    status: 'partial',
    title: 'First',
    body: 'Text',
    isSilent: false,
    audience: { users: 1, devices: 0, user: cleo.id },
    createdAt: expect.any(String),
    finishedAt: expect.any(String),
    counts: { devices: 2, accepted: 1, opened: 0, failedLater: 0 },
  });
  expect(await rowOf(none.id)).toMatchObject({ status: 'no-devices', audience: { users: 2, devices: 0, user: null } });
  const { body } = await call('GET', `${API}/sends?status=partial`);
  expect(body.data.map(({ id }: { id: string }) => id)).toEqual([partial.id]);
  expect((await call('GET', `${API}/sends`)).body.data[0].id).toBe(none.id);
});

test('a tap and a late failure are counted in the list', async () => {
  const dora = await person('Dora');
  const { id: device } = await app.simulated!.create({ user: dora.id, name: 'Phone' });
  const { id } = await app.push.send({ to: dora.id, title: 'Tap me' });
  const phone = (await app.simulated!.list()).find((one) => one.id === device)!;
  await app.simulated!.tap(phone.notifications[0]!.id);
  await app.push.receipt(id, device, { ok: false, error: 'Expired' });
  await expect
    .poll(async () => (await rowOf(id)).counts, { timeout: 60_000 })
    .toEqual({ devices: 1, accepted: 1, opened: 1, failedLater: 1 });
});

test('a long list of sends has pages, and so do the devices of a push', async () => {
  const eve = await person('Eve');
  for (let i = 0; i < 21; i++) await app.simulated!.create({ user: eve.id, name: `No. ${i}` });
  const ids: string[] = [];
  for (let i = 0; i < 31; i++) ids.unshift((await app.push.enqueue({ to: eve.id, title: `Push ${i}` })).id);
  const first = (await call('GET', `${API}/sends`)).body;
  expect(first.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 30));
  const second = (await call('GET', `${API}/sends?after=${first.meta.next}`)).body;
  expect(second.data[0].id).toBe(ids[30]);
  await expect.poll(async () => (await rowOf(ids[0]!)).status, { timeout: 60_000 }).toBe('sent');
  const page = async (number: number) => (await call('GET', `${API}/sends/${ids[0]}?page=${number}`)).body;
  const [one, two] = [await page(1), await page(2)];
  expect([one.data.devices.length, two.data.devices.length, two.meta]).toEqual([20, 1, { page: 2, pages: 2 }]);
});

test('the page of a push has the timeline of each device, whether the device is still registered, and its chunks', async () => {
  const fay = await person('Fay');
  const { id: phone } = await app.simulated!.create({ user: fay.id, name: 'Phone' });
  const { id: sold } = await app.simulated!.create({ user: fay.id, name: 'Sold', behavior: 'app-uninstalled' });
  const busy = await app.simulated!.create({ user: fay.id, name: 'Busy', behavior: 'rate-limited' });
  const { id } = await app.push.send({ to: fay.id, deviceIds: [busy.id], title: 'News' });
  const { data } = (await call('GET', `${API}/sends/${id}`)).body;
  expect(data).toMatchObject({
    message: { title: 'News' },
    audience: { users: { ids: [fay.id], total: 1 }, devices: { ids: [busy.id], total: 1 } },
    chunks: [{ chunk: 0, transport: 'simulated', devices: 3, claims: expect.any(Number) }],
  });
  expect(data.message).not.toHaveProperty('to');
  const of = (device: string) => data.devices.find((one: { device: string }) => one.device === device);
  const events = (device: string) => of(device).timeline.map(({ event }: { event: string }) => event);
  expect(of(phone)).toMatchObject({ name: 'Phone', user: fay.id, isRegistered: true, ok: true });
  expect(events(phone)).toEqual(['queued', 'sent', 'accepted']);
  expect(of(sold)).toMatchObject({ isRegistered: false, ok: false, error: 'DeviceNotRegistered' });
  expect(events(sold)).toEqual(['queued', 'sent', 'refused']);
  expect(events(busy.id).slice(0, 4)).toEqual(['queued', 'sent', 'refused', 'retry']);
  expect(JSON.stringify(data)).not.toMatch(/sim_[0-9a-f]{32}/);
  const removed = (await call('GET', `${API}/removed-devices`)).body.data;
  expect(removed.find((one: { id: string }) => one.id === sold)).toMatchObject({
    user: fay.id,
    name: 'Sold',
    error: 'DeviceNotRegistered',
    push: id,
  });
  expect(removed.some((one: { id: string }) => [phone, busy.id].includes(one.id))).toBe(false);
});

test('devices of all users are listed and filtered, without their tokens; one can be tested and removed', async () => {
  const gus = await person('Gus');
  const real = await registerPhone(gus, 'another-real-token-0123456789');
  const { id: simulated } = await app.simulated!.create({ user: gus.id, platform: 'ios', name: 'iPhone' });
  const list = async (query: string) => (await call('GET', `${API}/devices?user=${gus.id}${query}`)).body.data;
  expect((await list('')).map(({ id }: { id: string }) => id)).toEqual([simulated, real]);
  expect(await list('&platform=android')).toEqual([
    {
      id: real,
      user: gus.id,
      platform: 'android',
      name: 'Real phone',
      appVersion: null,
      locale: null,
      token: expect.stringMatching(/^.{1,6}….{1,6}$/),
      isSimulated: false,
      state: 'signed-in',
      createdAt: expect.any(String),
      lastSeenAt: expect.any(String),
    },
  ]);
  const sent = await call('POST', `${API}/devices/${simulated}/test`, { title: 'Test', body: 'Hi' });
  expect([sent.status, sent.body.data.status, sent.body.data.devices]).toEqual([201, 'sent', 1]);
  expect((await call('GET', `${API}/devices/${simulated}`)).body.data).toMatchObject({
    isSimulated: true,
    state: 'unbound',
    pushes: [{ push: sent.body.data.id, title: 'Test', ok: true }],
  });
  expect((await call('DELETE', `${API}/devices/${real}`)).status).toBe(204);
  expect((await gus.call('GET', '/api/auth/devices')).body.data.map(({ id }: { id: string }) => id)).toEqual([
    simulated,
  ]);
});

describe('in production', async () => {
  const production = await startTestApp(
    { resources: [defineUser()], extensions: [audit(), adminConsole({ production: true })] },
    {
      roles: 'all',
      env: () => ({
        NODE_ENV: 'production',
        DRAIN_DELAY_MS: '0',
        APP_URL: 'https://api.example.com',
        SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
        LOG_LEVEL: 'silent',
      }),
    },
  );

  test('administrators alone see sends and devices, test and remove devices, and the audit trail records it', async () => {
    const [admin, ada] = [await production.person('Root', ['user', 'admin']), await production.person('Ada')];
    const device = await registerPhone(ada, 'a-token-of-production-0123456789');
    const routes: [method: string, path: string, body: object | undefined, status: number][] = [
      ['GET', '/sends', undefined, 200],
      ['GET', '/devices', undefined, 200],
      ['GET', `/devices/${device}`, undefined, 200],
      ['GET', '/removed-devices', undefined, 200],
      ['GET', `/sends/${NO_ID}`, undefined, 404],
      ['POST', `/devices/${device}/test`, { title: 'Private text' }, 201],
      ['DELETE', `/devices/${device}`, undefined, 204],
    ];
    for (const [method, path, body, status] of routes) {
      expect((await production.call(method, API + path, body)).status, path).toBe(401);
      expect((await ada.call(method, API + path, body)).status, path).toBe(403);
      expect((await admin.call(method, API + path, body)).status, path).toBe(status);
    }
    const readTrail = async () => (await admin.call('GET', '/api/admin/audit?resource=push')).body.data;
    await expect.poll(readTrail, { timeout: 60_000 }).toMatchObject([
      { action: 'console.deviceRemoved', record: device, user: admin.id, via: 'console' },
      { action: 'console.pushTested', record: device, user: admin.id },
    ]);
    expect(JSON.stringify(await readTrail())).not.toContain('Private text');
  });

  test('the simulator does not exist', async () => {
    const admin = await production.person('Boss', ['user', 'admin']);
    const send = (method: string, path: string): Promise<ApiResponse> => admin.call(method, API + path, {});
    for (const path of ['/simulator/devices', '/simulator/opened', '/simulator/sends'])
      expect((await send('POST', path)).status, path).toBe(404);
    expect((await admin.call('GET', `${API}/simulator`)).status).toBe(404);
    const { body } = await admin.call('GET', '/console/api/app');
    expect(body.data.tabs.map(({ id }: { id: string }) => id)).toContain('push');
  });
});
