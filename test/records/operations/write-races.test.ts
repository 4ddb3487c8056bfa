import { request } from 'node:http';
import { expect, test, vi } from 'vitest';
import { defineResource, defineUser, f, webhooks } from '../../../src/index.ts';
import { startReceiver } from '../../fakes/receiver.ts';
import { startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public' } as const;
const odd = defineResource('odd', {
  fields: { r: f.json(), o: f.json(), t: f.string(), old: f.json(), name: f.string() },
  policies: open,
});
const span = defineResource('span', {
  fields: {
    from: f.integer().check((value, record) => value <= (record.to as number) || 'Must not be after to'),
    to: f.integer().check((value, record) => value >= (record.from as number) || 'Must not be before from'),
  },
  policies: open,
});
const locked = defineResource('locked', {
  timestamps: false,
  fields: { locked: f.boolean().default(false), value: f.integer() },
  policies: { ...open, update: ({ doc }) => doc.locked !== true },
});
const secret = defineResource('secret', {
  fields: { text: f.string(), author: f.ref('user').owner() },
  policies: { read: 'owner', create: 'authenticated', update: 'authenticated', delete: 'authenticated' },
});
const touchy = defineResource('touchy', {
  fields: { text: f.string() },
  policies: { create: 'public', read: ({ user }) => (user!.bio as string).length >= 0 },
});

const { url, call, person, app } = await startTestApp(
  {
    resources: [defineUser({ fields: { bio: f.string() } }), odd, span, locked, secret, touchy],
    extensions: [webhooks()],
  },
  { roles: 'all' },
);
const ann = await person('Ann');
const bob = await person('Bob');

test('no field name can break a write or inject data into an event', async () => {
  const receiver = await startReceiver();
  await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['odd.*'] });
  const forged = {
    id: 'f'.repeat(24),
    name: 'FORGED',
    created_at: '2020-01-01T00:00:00Z',
    updated_at: '2020-01-01T00:00:00Z',
  };
  const { body } = await call('POST', '/api/odds', { r: forged, o: forged, t: 'x', old: forged, name: 'true' });
  expect((await call('PATCH', `/api/odds/${body.data.id}`, { name: 'changed' })).status).toBe(200);
  await vi.waitUntil(() => receiver.requests.length === 2, { timeout: 60_000 });
  const sent = receiver.requests.map((one) => JSON.parse(one.body.toString()).data);
  expect(sent.map((data) => data.id)).toEqual([body.data.id, body.data.id]);
  expect(sent.map((data) => data.name).sort()).toEqual(['changed', 'true']);
  await receiver.close();
});

test('a rule over two fields holds, however often both are changed concurrently', async () => {
  for (let round = 0; round < 10; round++) {
    const { body } = await call('POST', '/api/spans', { from: 1, to: 10 });
    const path = `/api/spans/${body.data.id}`;
    await Promise.all([call('PATCH', path, { from: 9 }), call('PATCH', path, { to: 3 })]);
    const { data } = (await call('GET', path)).body;
    expect(data.from).toBeLessThanOrEqual(data.to);
  }
});

test('a policy function is evaluated for the current record, also without timestamps', async () => {
  for (let round = 0; round < 10; round++) {
    const { body } = await call('POST', '/api/lockeds', {});
    const path = `/api/lockeds/${body.data.id}`;
    const responses = await Promise.all([1, 2, 3, 4, 5].map((value) => call('PATCH', path, { locked: true, value })));
    expect(responses.filter((response) => response.status === 200)).toHaveLength(1);
  }
});

test('a user who may update but not read a record gets 404, no part of the record, and changes nothing', async () => {
  const { body } = await ann.call('POST', '/api/secrets', { text: 'mine' });
  const path = `/api/secrets/${body.data.id}`;
  for (const [method, sent] of [
    ['PATCH', {}],
    ['PATCH', { text: 'x' }],
  ] as const) {
    const response = await bob.call(method, path, sent);
    expect([response.status, JSON.stringify(response.body)]).toEqual([404, expect.not.stringContaining('mine')]);
  }
  expect((await ann.call('GET', path)).body.data.text).toBe('mine');
});

test('a policy that throws for one subscriber does not stop the event for other subscribers', async () => {
  const receiver = await startReceiver();
  await ann.call('PATCH', '/api/auth/me', { bio: 'here' });
  await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['touchy.created'] });
  await bob.call('POST', '/api/webhooks', { url: receiver.url, events: ['touchy.created'] });
  await app.service('touchy').create({ text: 'sent' });
  await vi.waitUntil(() => receiver.requests.length === 1, { timeout: 60_000 });
  await receiver.close();
});

test('a request whose body arrives only after a logout is refused', async () => {
  const eve = await person('Eve');
  const done = Promise.withResolvers<number>();
  const headers = { authorization: `Bearer ${eve.token}`, 'content-type': 'application/json' };
  const slow = request(`${url}/api/secrets`, { method: 'POST', headers }, (res) => done.resolve(res.statusCode!));
  slow.on('error', done.reject);
  slow.write('{"text":');
  await eve.call('POST', '/api/auth/logout');
  // Longer than a body in transit usually takes.
  await new Promise((resolve) => setTimeout(resolve, 400));
  slow.end('"late"}');
  expect(await done.promise).toBe(401);
  expect((await app.service('secret').list({})).data.map((one) => one.text)).not.toContain('late');
});
