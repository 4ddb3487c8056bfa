import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { createApp, defineUser } from '../../../src/index.ts';
import type { Transport, TransportDevice } from '../../../src/push/message/transport.ts';
import { expoTransport } from '../../fixtures/expo-transport.ts';
import { startTestApp } from '../../support/app.ts';
import { vapid } from './web-push/local.ts';

const DEVICES = '/api/auth/devices';
const VAPID = {
  VAPID_PUBLIC_KEY: vapid.publicKey,
  VAPID_PRIVATE_KEY: vapid.privateKey,
  VAPID_SUBJECT: vapid.subject,
};

/** A stand-in for Expo's push service, whose response a test decides. */
const requests: { authorization: string | undefined; body: unknown }[] = [];
let response: { status: number; body: object };
const expo = createServer(async (req, res) => {
  requests.push({ authorization: req.headers.authorization, body: await json(req) });
  res.writeHead(response.status, { 'content-type': 'application/json' }).end(JSON.stringify(response.body));
}).listen(0, '127.0.0.1');
await once(expo, 'listening');
afterAll(() => void expo.close());
const url = `http://127.0.0.1:${(expo.address() as AddressInfo).port}/send`;

let defaultNames: string[] = [];
const { app, person, env } = await startTestApp(
  {
    resources: [defineUser()],
    transports: (defaults) => {
      defaultNames = defaults.map(({ name }) => name);
      return [expoTransport({ url, accessToken: 'secret-of-expo' }), ...defaults];
    },
  },
  { roles: 'all', env: () => VAPID },
);
beforeEach(() => requests.splice(0));

const TOKEN = 'ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]';
async function registerPhone() {
  const ann = await person('Ann');
  const { status, body } = await ann.call('POST', DEVICES, { token: TOKEN, platform: 'ios' });
  expect(status).toBe(201);
  return { ann, device: body.data.id as string };
}

test('the example in docs/extend/push-transports.md matches this fixture', () => {
  const root = join(import.meta.dirname, '..', '..', '..');
  const fixture = readFileSync(join(root, 'test', 'fixtures', 'expo-transport.ts'), 'utf8');
  expect(readFileSync(join(root, 'docs', 'extend', 'push-transports.md'), 'utf8')).toContain(
    `\`\`\`ts\n${fixture.replace('../../src/index.ts', 'belfry')}\`\`\``,
  );
});

test('an added transport sends to the devices that it accepts; the default transports send to the others', async () => {
  const { ann, device } = await registerPhone();
  const subscription = { endpoint: 'https://127.0.0.1:1/x', keys: { p256dh: vapid.publicKey, auth: 'a'.repeat(22) } };
  const token = JSON.stringify(subscription);
  expect((await ann.call('POST', DEVICES, { token, platform: 'web' })).status).toBe(201);
  response = { status: 200, body: { data: [{ status: 'ok', id: 'ticket-1' }] } };

  const sent = await app.push.send({ to: ann.id, title: 'Hi', url: '/posts/1', sound: false, ttl: 0 });

  expect(defaultNames).toEqual(['web-push']);
  expect(sent).toMatchObject({ status: 'partial', devices: 2 });
  expect(sent.results).toContainEqual({ device, ok: true, id: 'ticket-1' });
  const notification = {
    to: TOKEN,
    title: 'Hi',
    data: { url: '/posts/1', pushId: sent.id },
    priority: 'high',
    sound: null,
    ttl: 0,
  };
  expect(requests).toEqual([{ authorization: 'Bearer secret-of-expo', body: [notification] }]);
  const admin = await person('Cay', ['user', 'admin']);
  const { body } = await admin.call('GET', `/api/push/${sent.id}`);
  expect(body.data.devices.map(({ transport }: { transport: string }) => transport).sort()).toEqual([
    'expo',
    'web-push',
  ]);
});

test('a device that an added transport reports as unregistered is removed', async () => {
  const { ann } = await registerPhone();
  response = {
    status: 200,
    body: { data: [{ status: 'error', message: 'not registered', details: { error: 'DeviceNotRegistered' } }] },
  };
  expect(await app.push.send({ to: ann.id, title: 'Hi' })).toMatchObject({ status: 'failed' });
  await expect.poll(async () => (await ann.call('GET', DEVICES)).body.data).toEqual([]);
});

test('a retryable failure of an added transport is retried, and the receipt reports the success', async () => {
  const { ann, device } = await registerPhone();
  const receipts: unknown[] = [];
  app.on('push.receipt', (receipt) => receipts.push(receipt));
  response = { status: 503, body: {} };
  const { id, results } = await app.push.send({ to: ann.id, title: 'Hi' });
  expect(results).toEqual([{ device, ok: false, error: 'Expo responded with 503' }]);
  response = { status: 200, body: { data: [{ status: 'ok', id: 'ticket-2' }] } };
  await expect
    .poll(() => receipts, { timeout: 60_000 })
    .toContainEqual({ id, device, ok: true, error: null, unregistered: false });
});

test('a transports function that does not return a list is a configuration error, as are wrong credentials', () => {
  const resources = [defineUser()];
  expect(() => createApp({ resources, transports: (() => undefined) as never }, env)).toThrow(
    'transports: the function must return a list of transports',
  );
  const transports = () => {
    throw new Error('no access token');
  };
  expect(() => createApp({ resources, transports }, env)).toThrow(
    'transports: the function threw Error: no access token',
  );
  const wrong = { ...env, VAPID_SUBJECT: 'nobody' };
  expect(() => createApp({ resources, transports: (defaults) => defaults }, wrong)).toThrow('VAPID_SUBJECT');
});

const FAULT = expect.stringContaining('Expo push token');
const sent: TransportDevice[] = [];
const send: Transport['send'] = (_message, devices) => {
  sent.push(...devices);
  return devices.map(() => ({ ok: true }));
};

const native = await startTestApp({ resources: [defineUser()], transports: [{ name: 'any', send }] }, { roles: 'all' });
const withExpo = await startTestApp(
  {
    resources: [defineUser()],
    transports: [
      { name: 'expo', accepts: ({ token, platform }) => platform === 'ios' && token.startsWith('Expo'), send },
    ],
  },
  { roles: 'all' },
);

const TOKENS = [TOKEN, 'ExpoPushToken[xxxxxxxxxxxxxxxxxxxxxx]'];

test.each(TOKENS.flatMap((token) => ['ios', 'android', 'web'].map((platform) => [token, platform])))(
  '%s is refused as a token of %s with a message that names Expo, registered or raw',
  async (token, platform) => {
    const ann = await native.person('Ann');
    const answer = await ann.call('POST', DEVICES, { token: ` ${token}`, platform });
    expect([answer.status, answer.body.error.details]).toEqual([422, { token: FAULT }]);
    expect((await ann.call('GET', DEVICES)).body.data).toEqual([]);
    await expect(native.app.push.send({ tokens: ['native', token], platform, title: 'Hi' })).rejects.toMatchObject({
      status: 422,
      details: expect.objectContaining({ 'tokens.1': FAULT }),
    });
    expect(sent).toEqual([]);
  },
);

test('an app with a transport for Expo tokens registers them and sends to them, on the platforms that the transport accepts', async () => {
  const ann = await withExpo.person('Ann');
  const [token, raw] = TOKENS;
  const registered = await ann.call('POST', DEVICES, { token, platform: 'ios' });
  expect(registered.status).toBe(201);
  const { status } = await withExpo.app.push.send({ to: ann.id, tokens: [raw], platform: 'ios', title: 'Hi' });
  expect([status, sent.map((device) => device.token)]).toEqual(['sent', [token, raw]]);
  const refused = await ann.call('POST', DEVICES, { token: raw, platform: 'android' });
  expect([refused.status, refused.body.error.details]).toEqual([422, { token: FAULT }]);
});
