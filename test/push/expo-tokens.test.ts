import { expect, test } from 'vitest';
import { defineUser } from '../../src/index.ts';
import type { Transport, TransportDevice } from '../../src/push/transport.ts';
import { startTestApp } from '../support/app.ts';

const DEVICES = '/api/auth/devices';
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

const TOKENS = ['ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]', 'ExpoPushToken[xxxxxxxxxxxxxxxxxxxxxx]'];

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
