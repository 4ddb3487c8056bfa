import { expect, test } from 'vitest';
import { defineUser } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const run = await startTestApp(
  { resources: [defineUser()], settings: { auth: { devicesFollowSessions: false } } },
  { roles: 'all' },
);

test('with auth.devicesFollowSessions off, a device stays when its session ends', async () => {
  const ann = await run.person('Ann');
  const { body } = await ann.call('POST', '/api/auth/devices', { token: 'a-token', platform: 'ios' });
  expect(body.data.signedIn).toBe(false);
  await ann.call('POST', '/api/auth/logout');
  const result = await run.app.push.send({ to: ann.id, title: 'Still there' });
  expect(result).toMatchObject({ status: 'captured', devices: 1, results: [{ device: body.data.id, ok: true }] });
});

test('a tap is stored with the push if only one device of the user received it', async () => {
  const [ann, admin] = [await run.person('Ann'), await run.person('Ada', ['admin'])];
  const register = (token: string) => ann.call('POST', '/api/auth/devices', { token, platform: 'ios' });
  const opened = async (id: string) => (await admin.call('GET', `/api/push/${id}`)).body.data.counts.opened;
  const [first] = [await register('first-token'), await register('second-token')];
  const { id: one } = await run.app.push.send({ deviceIds: [first.body.data.id], title: 'Hi' });
  const { id: both } = await run.app.push.send({ to: ann.id, title: 'Hi' });
  for (const pushId of [both, one]) await ann.call('POST', '/api/auth/devices/opened', { pushId });
  await expect.poll(() => opened(one)).toBe(1);
  expect(await opened(both)).toBe(0);
});
