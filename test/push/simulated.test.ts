import { expect, test } from 'vitest';
import type { SimulatedBehavior } from '../../src/declare/push.ts';
import { createApp, defineUser } from '../../src/index.ts';
import { createPush } from '../../src/push/index.ts';
import type { Transport } from '../../src/push/message/transport.ts';
import { createSimulatedTransport } from '../../src/push/simulated/transport.ts';
import { startTestApp } from '../support/app.ts';
import { openPlatform } from './platform.ts';

const real: Transport = { name: 'real', send: (_message, devices) => devices.map(() => ({ ok: true, id: 'real' })) };
const events: { name: string; payload: unknown }[] = [];
const { app, person, env } = await startTestApp(
  {
    resources: [defineUser()],
    transports: [real],
    listeners: (app) => {
      for (const name of ['push.simulated', 'push.opened', 'push.receipt']) {
        app.on(name, (payload) => events.push({ name, payload }));
      }
    },
  },
  { roles: 'all' },
);
const simulated = app.simulated!;
const notificationsOf = async (id: string) => (await simulated.list()).find((one) => one.id === id)?.notifications;

test.each<[SimulatedBehavior, object, string | undefined, boolean]>([
  ['delivers', { ok: true, id: expect.any(String) }, 'shown', true],
  ['offline', { ok: true, id: expect.any(String) }, 'held', true],
  ['notifications-off', { ok: true, id: expect.any(String) }, 'hidden', true],
  ['app-uninstalled', { ok: false, error: 'DeviceNotRegistered' }, undefined, false],
  ['invalid-token', { ok: false, error: 'InvalidRegistration' }, undefined, false],
  ['rate-limited', { ok: false, error: 'MessageRateExceeded' }, undefined, true],
])(
  '%s: the provider’s result, the visible notification, and whether the device is kept',
  async (behavior, result, state, stays) => {
    events.length = 0;
    const ann = await person('Ann');
    const { id } = await simulated.create({ user: ann.id, behavior });
    const sent = await app.push.send({ to: ann.id, title: 'Hi', ttl: 0 });
    expect(sent).toMatchObject({
      status: state === undefined ? 'failed' : 'sent',
      devices: 1,
      results: [{ device: id, ...result }],
    });
    const expectedEvents =
      state === undefined ? [] : [{ name: 'push.simulated', payload: { id: sent.id, device: id, state } }];
    expect(events).toEqual(expectedEvents);
    await expect.poll(async () => (await ann.call('GET', '/api/auth/devices')).body.data.length).toBe(stays ? 1 : 0);
    if (state !== undefined)
      expect(await notificationsOf(id)).toMatchObject([{ push: sent.id, state, message: { title: 'Hi' } }]);
  },
);

test('a real transport that accepts every device does not get simulated devices', async () => {
  const ann = await person('Ann');
  await simulated.create({ user: ann.id, platform: 'web', name: 'Browser' });
  await ann.call('POST', '/api/auth/devices', { token: 'a-real-token-0123456789', platform: 'android' });
  const { results } = await app.push.send({ to: ann.id, title: 'Hi' });
  expect(results.map((one) => one.id).filter((id) => id === 'real')).toHaveLength(1);
});

test('a device that comes online shows the notifications held for it, except expired ones', async () => {
  const ann = await person('Ann');
  const { id } = await simulated.create({ user: ann.id, behavior: 'offline' });
  const kept = await app.push.send({ to: ann.id, title: 'Kept' });
  await app.push.send({ to: ann.id, title: 'Late', ttl: 0 });
  events.length = 0;
  const device = await simulated.setBehavior(id, 'delivers');
  expect(device.notifications).toMatchObject([{ push: kept.id, state: 'shown' }]);
  expect(events).toEqual([{ name: 'push.simulated', payload: { id: kept.id, device: id, state: 'shown' } }]);
});

test('notifications held for a device are hidden if it has turned off notifications by then', async () => {
  const ann = await person('Ann');
  const { id } = await simulated.create({ user: ann.id, behavior: 'offline' });
  await app.push.send({ to: ann.id, title: 'Hi' });
  expect((await simulated.setBehavior(id, 'notifications-off')).notifications).toMatchObject([{ state: 'hidden' }]);
});

test('a newer notification with the same collapseId replaces the older one on each device', async () => {
  const ann = await person('Ann');
  const { id } = await simulated.create({ user: ann.id });
  for (const [title, collapseId] of [
    ['A', 'score'],
    ['B', 'score'],
    ['C', 'other'],
  ] as const) {
    await app.push.send({ to: ann.id, title, collapseId });
  }
  expect((await notificationsOf(id))!.map(({ message }) => message.title)).toEqual(['C', 'B']);
});

test('a push that arrives twice, because a worker was lost before it stored the result, is shown once', async () => {
  const ann = await person('Ann');
  const { id } = await simulated.create({ user: ann.id });
  const sent = await app.push.send({ to: ann.id, title: 'Hi' });
  const platform = await openPlatform(env);
  try {
    const device = { id, platform: 'ios', token: 'sim_x', user: ann.id, locale: null } as const;
    const message = { title: 'Hi', sound: 'default', priority: 'high' } as const;
    await createSimulatedTransport(platform).send(message, [device], { id: sent.id });
  } finally {
    await platform.close();
  }
  expect(await notificationsOf(id)).toMatchObject([{ push: sent.id, state: 'shown' }]);
});

test('a silent message is not shown', async () => {
  const ann = await person('Ann');
  const { id } = await simulated.create({ user: ann.id });
  await app.push.send({ to: ann.id, silent: true, data: { refresh: true } });
  expect(await notificationsOf(id)).toMatchObject([{ state: 'hidden' }]);
});

test('a tap is emitted as an opened push, with the data of the notification', async () => {
  const ann = await person('Ann');
  const { id } = await simulated.create({ user: ann.id });
  const sent = await app.push.send({ to: ann.id, title: 'Hi', url: '/posts/1', data: { a: 1 } });
  events.length = 0;
  const [notification] = (await notificationsOf(id))!;
  await simulated.tap(notification!.id);
  const payload = {
    id: sent.id,
    user: ann.id,
    device: id,
    url: '/posts/1',
    data: { a: 1, url: '/posts/1' },
    simulated: true,
  };
  expect(events).toEqual([{ name: 'push.opened', payload }]);
  expect((await notificationsOf(id))![0]!.tappedAt).not.toBeNull();
});

test('a notification that is not shown cannot be tapped; unknown ids return 404', async () => {
  const ann = await person('Ann');
  const { id } = await simulated.create({ user: ann.id, behavior: 'offline' });
  await app.push.send({ to: ann.id, title: 'Hi' });
  const [held] = (await notificationsOf(id))!;
  for (const doing of [
    () => simulated.tap(held!.id),
    () => simulated.tap('x'),
    () => simulated.setBehavior('0'.repeat(24), 'delivers'),
    () => simulated.remove('x'),
  ]) {
    await expect(doing()).rejects.toMatchObject({ status: 404 });
  }
  await simulated.remove(id);
  expect(await notificationsOf(id)).toBeUndefined();
});

test.each<[unknown, object]>([
  [{}, { user: 'Must be an id' }],
  [{ user: 'x' }, { user: 'Must be an id' }],
  [{ user: 'a'.repeat(24), behavior: 'explodes' }, { behavior: expect.stringMatching(/^Must be one of: /) }],
  [{ user: 'a'.repeat(24), platform: 'symbian' }, { platform: 'Must be one of: ios, android, web' }],
  [{ user: 'a'.repeat(24), colour: 'red' }, { colour: 'Unknown field' }],
  [5, { device: 'Must be an object' }],
  [undefined, { device: 'Must be an object' }],
])('an invalid device returns 422 with plain messages: %j', async (device, details) => {
  await expect(simulated.create(device as never)).rejects.toMatchObject({ status: 422, details });
});

test('a rate-limited device is retried, and a receipt is emitted when it accepts the push later', async () => {
  const ann = await person('Ann');
  const { id } = await simulated.create({ user: ann.id, behavior: 'rate-limited' });
  const sent = await app.push.send({ to: ann.id, title: 'Hi' });
  expect(sent.status).toBe('failed');
  await simulated.setBehavior(id, 'delivers');
  const receipt = { id: sent.id, device: id, ok: true, error: null, unregistered: false };
  await expect.poll(() => events, { timeout: 60_000 }).toContainEqual({ name: 'push.receipt', payload: receipt });
  expect(await notificationsOf(id)).toMatchObject([{ push: sent.id, state: 'shown' }]);
});

test('in production there are no simulated devices: existing ones in the database are skipped', async () => {
  const ann = await person('Ann');
  const { id } = await simulated.create({ user: ann.id });
  const key = Buffer.alloc(32, 1).toString('base64');
  const production = { ...env, NODE_ENV: 'production', APP_URL: 'https://api.example.com', SVC_ENCRYPTION_KEYS: key };
  const platform = await openPlatform(production);
  try {
    const push = createPush(platform, []);
    expect(push.simulated).toBeUndefined();
    expect(await push.sender.send({ to: ann.id, deviceIds: [id], title: 'Hi' })).toMatchObject({
      status: 'no-devices',
    });
  } finally {
    await platform.close();
  }
});

test('no other transport may use the name of the simulated one', () => {
  const transports = [{ ...real, name: 'simulated' }];
  expect(() => createApp({ resources: [defineUser()], transports }, env)).toThrow(
    /the name is reserved for simulated devices/,
  );
});
