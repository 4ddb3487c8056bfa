import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test, vi } from 'vitest';
import type { App } from '../../../src/index.ts';
import {
  defineResource,
  defineUser,
  emailVerification,
  f,
  realtime,
  softDelete,
  webhooks,
} from '../../../src/index.ts';
import { ready } from '../../extensions/realtime/listen.ts';
import { startTestApp } from '../../support/app.ts';

const story = defineResource('story', {
  softDelete: true,
  fields: {
    title: f.string().required(),
    secret: f.string().visibleTo('verified').filterable(),
    rating: f.integer().writableBy('verified'),
    author: f.ref('user').owner(),
  },
  policies: { list: 'public', read: 'public', create: 'authenticated', update: 'verified', delete: 'verified' },
});
const memo = defineResource('memo', {
  fields: { text: f.string().required(), about: f.ref('story').populate() },
  policies: { list: 'verified', read: 'verified', create: 'admin' },
});
const { app, call, url, person } = await startTestApp(
  {
    resources: [defineUser(), story, memo],
    extensions: [emailVerification(), realtime(), webhooks({ pollMs: 50, allowPrivate: true }), softDelete()],
    settings: { relay: { pollMs: 50, sweepMs: 50 } },
  },
  { roles: 'all' },
);
const users = (app as unknown as App).service('user');
const setVerified = (id: string, verified: boolean) =>
  users.update(id, { emailVerifiedAt: verified ? new Date().toISOString() : null });

const received: { path: string; data: Record<string, unknown> }[] = [];
const receiver = createServer((req, res) => {
  let text = '';
  req.on('data', (part) => {
    text += part;
  });
  req.on('end', () => {
    received.push({ path: req.url!, data: JSON.parse(text).data });
    res.end();
  });
}).listen(0);
await once(receiver, 'listening');
afterAll(() => receiver.close());
const hook = (path: string) => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`;

const [ada, bob] = [await person('Ada'), await person('Bob')];
await setVerified(ada.id, true);

test('a field for verified users is visible, filterable and writable for them only', async () => {
  const created = await ada.call('POST', '/api/stories', { title: 'One', secret: 'x', rating: 5 });
  expect(created.body.data).toMatchObject({ secret: 'x', rating: 5 });
  const { id } = created.body.data;
  expect((await ada.call('GET', `/api/stories/${id}`)).body.data.secret).toBe('x');
  for (const client of [bob.call, call])
    expect((await client('GET', `/api/stories/${id}`)).body.data).not.toHaveProperty('secret');
  expect((await ada.call('GET', '/api/stories?secret=x')).body.data).toHaveLength(1);
  expect((await bob.call('GET', '/api/stories?secret=x')).body.data ?? []).toEqual([]);
  expect((await bob.call('POST', '/api/stories', { title: 'Two', rating: 5 })).body.error.details).toEqual({
    rating: 'You are not allowed to set this field',
  });
});

test('updates, deletions and restores follow the policy, whoever owns the record', async () => {
  const { id } = (await bob.call('POST', '/api/stories', { title: 'Three' })).body.data;
  expect((await bob.call('PATCH', `/api/stories/${id}`, { title: 'Four' })).status).toBe(403);
  expect((await bob.call('DELETE', `/api/stories/${id}`)).status).toBe(403);
  expect((await ada.call('PATCH', `/api/stories/${id}`, { title: 'Four' })).status).toBe(200);
  expect((await ada.call('DELETE', `/api/stories/${id}`)).status).toBe(204);
  expect((await bob.call('POST', `/api/stories/${id}/restore`)).status).not.toBe(200);
  expect((await ada.call('POST', `/api/stories/${id}/restore`)).status).toBe(200);
});

test('webhooks deliver a record to verified owners of endpoints only, and again after the verification is lost to none', async () => {
  for (const [who, path] of [
    [ada, '/ada'],
    [bob, '/bob'],
  ] as const)
    await who.call('POST', '/api/webhooks', { url: hook(path), events: ['memo.created', 'story.created'] });
  // The relay may handle the records of earlier tests only now, so that the endpoints get them, too.
  const deliveriesOf = (...texts: string[]) =>
    received.filter(({ data }) => texts.includes((data.title ?? data.text) as string));
  const { id } = await app.service('story').create({ title: 'Five', secret: 'y' });
  await app.service('memo').create({ text: 'Hello', about: id });
  await vi.waitUntil(() => deliveriesOf('Five', 'Hello').length >= 3, { timeout: 60_000 });
  const memos = received.filter(({ data }) => 'text' in data);
  expect(memos.map(({ path }) => path)).toEqual(['/ada']);
  expect((memos[0]!.data.about as { secret: string }).secret).toBe('y');
  const stories = deliveriesOf('Five').toSorted((a, b) => a.path.localeCompare(b.path));
  expect(stories.map(({ data }) => data.secret)).toEqual(['y', undefined]);

  await setVerified(ada.id, false);
  await app.service('memo').create({ text: 'Unseen' });
  await app.service('story').create({ title: 'Six', secret: 'z' });
  await vi.waitUntil(() => deliveriesOf('Six').length >= 2, { timeout: 60_000 });
  expect(deliveriesOf('Six', 'Unseen').every(({ data }) => 'title' in data && !('secret' in data))).toBe(true);
  await setVerified(ada.id, true);
});

test('realtime sends a record to verified viewers only, and ends the stream of a viewer whose verification is lost', async () => {
  const open = (token: string) => ready(url, 'subscribe=story', { token });
  const [seen, unseen] = await Promise.all([open(ada.token), open(bob.token)]);
  await app.service('story').create({ title: 'Seven', secret: 'w' });
  expect((await seen.named('story.created')).data.data.secret).toBe('w');
  expect((await unseen.named('story.created')).data.data).not.toHaveProperty('secret');
  await setVerified(ada.id, false);
  await seen.ended;
  expect(seen.received.at(-1)).toMatchObject({ event: 'end', data: { reason: 'access_changed' } });
  await setVerified(ada.id, true);
});

test('a stored response of an idempotent request is not repeated to a user whose verification is lost', async () => {
  const send = () =>
    ada.call('POST', '/api/stories', { title: 'Eight', secret: 'v' }, { 'idempotency-key': 'verified-1' });
  expect((await send()).status).toBe(201);
  await setVerified(ada.id, false);
  expect((await send()).body.data ?? {}).not.toHaveProperty('secret');
  await setVerified(ada.id, true);
});
