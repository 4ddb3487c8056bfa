import { afterAll, expect, test } from 'vitest';
import { defineUser, developerConsole, webhooks } from '../../../../src/index.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { startTestApp } from '../../../support/app.ts';

const receiver = await startReceiver();
afterAll(() => receiver.close());
const { app, call, person } = await startTestApp(
  {
    resources: [defineUser({ roles: ['dev', 'faulty'] })],
    extensions: [
      webhooks({
        policy({ user }) {
          if (user?.roles?.includes('faulty')) throw new Error('the policy failed');
          return user?.roles?.includes('dev') ?? false;
        },
        retrySchedule: [],
      }),
      developerConsole(),
    ],
  },
  { roles: 'all' },
);

const TAB = '/console/api/webhooks';
const create = (owner: string) =>
  call('POST', `${TAB}/endpoints`, { owner, url: receiver.url, events: ['user.deleted'], description: 'x' });

test.each(['user', 'faulty'])(
  'no endpoint is created for a user with the role %s, whom the policy refuses',
  async (role) => {
    const ada = await person('Ada', ['user', role]);
    const own = await ada.call('POST', '/api/webhooks', { url: receiver.url, events: ['*'] });
    const { status, body } = await create(ada.id);
    expect([own.status, status, body.error.code]).toEqual([403, 403, 'FORBIDDEN']);
    expect(body.error.message).toContain('policy');
    expect((await call('POST', `${TAB}/receiver/endpoints`, { owner: ada.id, events: ['*'] })).status).toBe(403);
    expect((await call('GET', `${TAB}/endpoints?owner=${ada.id}`)).body.data).toEqual([]);
  },
);

test('endpoints of an owner whom the policy no longer allows can be read and deleted, but not changed', async () => {
  const bob = await person('Bob', ['user', 'dev']);
  const { status, body } = await create(bob.id);
  expect(status).toBe(201);
  const path = `${TAB}/endpoints/${body.data.id}`;
  const sent = await call('POST', `${path}/test`);
  expect(sent.body.data.status).toBe('succeeded');
  await app.service('user').update(bob.id, { roles: ['user'] });

  const since = new Date(Date.now() - 60_000).toISOString();
  const changes: [method: string, path: string, body?: object][] = [
    ['PATCH', path, { events: ['user.deleted'] }],
    ['POST', `${path}/rotate-secret`, {}],
    ['POST', `${path}/test`],
    ['POST', `${path}/recover`, { since }],
    ['POST', `${TAB}/deliveries/${sent.body.data.id}/retry`],
  ];
  for (const change of changes)
    expect([change[1], (await call(...change)).body.error?.code]).toEqual([change[1], 'FORBIDDEN']);
  expect((await call('GET', path)).status).toBe(200);
  expect((await call('GET', `${path}/deliveries`)).body.data).toHaveLength(1);
  expect((await call('DELETE', path)).status).toBe(204);
});
