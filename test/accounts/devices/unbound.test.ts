import { expect, test } from 'vitest';
import { defineUser } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const run = await startTestApp({ resources: [defineUser()], settings: { auth: { devicesFollowSessions: false } } });

test('with auth.devicesFollowSessions off a device outlives the session that registered it', async () => {
  const ann = await run.person('Ann');
  const { body } = await ann.call('POST', '/api/auth/devices', { token: 'a-token', platform: 'ios' });
  expect(body.data.signedIn).toBe(false);
  await ann.call('POST', '/api/auth/logout');
  const result = await run.app.push.send({ to: ann.id, title: 'Still there' });
  expect(result).toMatchObject({ status: 'captured', devices: 1, results: [{ device: body.data.id, ok: true }] });
});
