import { expect, onTestFinished, test, vi } from 'vitest';
import { createClient } from '../../../packages/client/src/index.ts';
import { defineResource, defineUser, f, realtime, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';
import { createTestRealtime, record } from './session.ts';

const post = defineResource('blog-post', {
  fields: { title: f.string().required(), status: f.enum(['draft', 'published']).default('draft').filterable() },
  policies: { list: 'public', read: 'public' },
  softDelete: true,
});
const note = defineResource('note', {
  fields: { title: f.string().filterable(), author: f.ref('user').owner() },
  policies: { list: 'authenticated', read: 'authenticated' },
  scope: ({ user }) => ({ author: user?.id }),
});
const secret = defineResource('secret', { fields: { title: f.string() }, policies: { list: 'admin', read: 'admin' } });

const { app, url, person } = await startTestApp(
  {
    resources: [defineUser({ roles: ['user', 'admin'] }), post, note, secret],
    extensions: [realtime({ heartbeatSeconds: 1, maxSubscriptions: 4 }), softDelete()],
    settings: { rateLimit: { enabled: false } },
  },
  { roles: ['web', 'relay'] },
);
const [ada, bob] = [await person('Ada'), await person('Bob')];
const posts = app.service(post);
const notes = app.service(note);

/** Waits until a subscription has noted something. */
const noted = (log: readonly string[], entry: string, times = 1) =>
  vi.waitUntil(() => log.filter((one) => one === entry).length >= times, { timeout: 60_000, interval: 10 });

/** Connects through a proxy, which can cut and stall connections. */
async function connectThroughProxy(token?: string) {
  const proxy = await startTcpProxy(new URL(url));
  onTestFinished(() => proxy.close());
  return { proxy, session: createTestRealtime(proxy.url, token) };
}

test('a subscription receives the changes that match its filters, with the record before and after', async () => {
  const session = createTestRealtime(url);
  const { log, events } = record(session, '/blog-posts', { where: { status: 'published' } });
  await noted(log, 'ready');
  await posts.create({ title: 'a draft' });
  const { id } = await posts.create({ title: 'one', status: 'published' });
  await posts.update(id, { title: 'two' });
  await posts.delete(id);
  await posts.restore(id);
  await posts.update(id, { status: 'draft' });
  await noted(log, 'left');
  expect(log).toEqual(['ready', 'created one', 'updated two', 'deleted two', 'restored two', 'left']);
  expect(events[1]).toMatchObject({ type: 'updated', id, data: { title: 'two' }, previous: { title: 'one' } });
  expect(events[4]).toMatchObject({ id, data: undefined, at: expect.any(String), event: expect.any(String) });
});

test('subscriptions that are added together share one stream, and equal ones are sent once', async () => {
  const session = createTestRealtime(url);
  const all = [
    record(session, '/blog-posts'),
    record(session, '/blog-posts'),
    record(session, '/blog-posts', { where: { status: 'published' } }),
  ];
  await Promise.all(all.map(({ log }) => noted(log, 'ready')));
  await posts.create({ title: 'shared', status: 'published' });
  await Promise.all(all.map(({ log }) => noted(log, 'created shared')));
  expect(session.opened).toEqual(['/api/realtime?subscribe=/blog-posts&subscribe=/blog-posts?status=published']);
});

test('adding and removing subscriptions loses and repeats no event of the others', async () => {
  const session = createTestRealtime(url);
  const first = record(session, '/blog-posts');
  await noted(first.log, 'ready');
  let isWriting = true;
  const titles: string[] = [];
  const writing = (async () => {
    while (isWriting) {
      titles.push(`t${titles.length}`);
      await posts.create({ title: titles.at(-1)! });
    }
  })();
  for (let i = 0; i < 6; i += 1) {
    const other = record(session, '/blog-posts', { where: { status: { ne: `draft`, in: ['draft', 'published'] } } });
    const single = record(session, '/blog-posts', { where: { status: i % 2 === 0 ? 'draft' : 'published' } });
    await noted(single.log, 'ready');
    other.close();
    single.close();
  }
  isWriting = false;
  await writing;
  await noted(first.log, `created ${titles.at(-1)}`);
  expect(first.events.map(({ data }) => data?.title)).toEqual(titles);
  expect(session.opened.length).toBeGreaterThan(2);
});

test('after a lost connection, the stream continues without missing or repeating an event', async () => {
  const { proxy, session } = await connectThroughProxy();
  const { log, events } = record(session, '/blog-posts');
  await noted(log, 'ready');
  await posts.create({ title: 'before' });
  await noted(log, 'created before');
  proxy.shut();
  await noted(log, 'disconnected');
  await posts.create({ title: 'meanwhile' });
  proxy.reopen();
  await noted(log, 'ready', 2);
  await posts.create({ title: 'after' });
  await noted(log, 'created after');
  expect(events.map(({ data }) => data?.title)).toEqual(['before', 'meanwhile', 'after']);
  expect(log.filter((one) => one.startsWith('reset'))).toEqual([]);
});

test('a connection that is silent for two heartbeats counts as lost, and is replaced', async () => {
  const { proxy, session } = await connectThroughProxy();
  const { log } = record(session, '/blog-posts');
  await noted(log, 'ready');
  proxy.hang();
  await noted(log, 'disconnected');
  await posts.create({ title: 'while it hung' });
  proxy.reopen();
  await noted(log, 'created while it hung');
  expect(log.filter((one) => one === 'created while it hung')).toHaveLength(1);
});

test('a refused subscription is reported to its listener alone, and the others go on', async () => {
  const session = createTestRealtime(url, ada.token);
  const fine = record(session, '/blog-posts');
  await noted(fine.log, 'ready');
  const refused = [
    record(session, '/secrets'),
    record(session, '/blog-posts', { where: { title: 'x' } }),
    record(session, '/nothing'),
  ];
  const missing = record(session, '/blog-posts', { id: '65f0c0ffee0000000000beef' });
  await Promise.all([...refused, missing].map(({ log }) => noted(log, 'error')));
  expect(refused.map(({ errors }) => errors[0]!.status)).toEqual([403, 400, 400]);
  expect(missing.errors[0]!.status).toBe(404);
  await posts.create({ title: 'still here' });
  await noted(fine.log, 'created still here');
  expect(fine.log.filter((one) => one === 'disconnected')).toEqual([]);
});

test('a record that does not exist is an error for its only subscription, too', async () => {
  const session = createTestRealtime(url);
  const missing = record(session, '/blog-posts', { id: '65f0c0ffee0000000000beef' });
  await noted(missing.log, 'error');
  expect(missing.errors[0]!.status).toBe(404);
  const { id } = await posts.create({ title: 'exists' });
  const existing = record(session, '/blog-posts', { id });
  await noted(existing.log, 'ready');
  await posts.update(id, { title: 'changed' });
  await noted(existing.log, 'updated changed');
});

test('more subscriptions than the server allows in one stream are divided among several', async () => {
  const session = createTestRealtime(url);
  const { id: first } = await posts.create({ title: 'first' });
  const all = [record(session, '/blog-posts'), record(session, '/blog-posts', { id: first })];
  for (const status of ['draft', 'published'] as const)
    for (const ne of ['draft', 'published'])
      all.push(record(session, '/blog-posts', { where: { status: { eq: status, ne } } }));
  all.push(record(session, '/blog-posts', { where: { status: { exists: true } } }));
  await Promise.all(all.map(({ log }) => noted(log, 'ready')));
  await posts.update(first, { title: 'to all' });
  await Promise.all([all[0]!, all[1]!, all.at(-1)!].map(({ log }) => noted(log, 'updated to all')));
});

test('after a sign-in, sign-out or change of the user, every subscription begins anew with the new rights', async () => {
  const session = createTestRealtime(url);
  const own = record(session, '/notes');
  await noted(own.log, 'error');
  expect(own.errors[0]!.status).toBe(401);
  session.signIn(ada.token);
  await noted(own.log, 'ready');
  await notes.create({ title: 'of Bob', author: bob.id });
  await notes.create({ title: 'of Ada', author: ada.id });
  await noted(own.log, 'created of Ada');
  session.signIn(bob.token);
  await noted(own.log, 'ready', 2);
  await notes.create({ title: 'for Ada', author: ada.id });
  await notes.create({ title: 'for Bob', author: bob.id });
  await noted(own.log, 'created for Bob');
  session.signIn(undefined);
  await noted(own.log, 'error', 2);
  const reset = 'reset session_changed';
  expect(own.log).toEqual([
    'error',
    ...[reset, 'ready', 'created of Ada'],
    ...[reset, 'ready', 'created for Bob'],
    ...[reset, 'error'],
  ]);
});

test('when the session ends on the server, the client learns it, and goes on signed out', async () => {
  const carol = await person('Carol');
  const session = createTestRealtime(url, carol.token);
  const [open, own] = [record(session, '/blog-posts'), record(session, '/notes')];
  await Promise.all([open, own].map(({ log }) => noted(log, 'ready')));
  await carol.call('POST', '/api/auth/logout');
  await noted(own.log, 'error');
  await noted(open.log, 'ready', 2);
  expect(open.log).toEqual(['ready', 'disconnected', 'reset session_changed', 'ready']);
});

test('when a user loses a role, their subscriptions are checked again, and the allowed ones are reset', async () => {
  const dora = await person('Dora', ['user', 'admin']);
  const session = createTestRealtime(url, dora.token);
  const [open, admin] = [record(session, '/blog-posts'), record(session, '/secrets')];
  await Promise.all([open, admin].map(({ log }) => noted(log, 'ready')));
  await app.service('user').update(dora.id, { roles: ['user'] });
  await noted(admin.log, 'error');
  await noted(open.log, 'reset access_changed');
  expect(open.log).toEqual(['ready', 'disconnected', 'reset access_changed', 'ready']);
});

test('a loop over events ends its subscription, and rejects for a refused one and an aborted one', async () => {
  const { realtime: streams, opened } = createTestRealtime(url, ada.token);
  const writing = setInterval(() => void posts.create({ title: 'in a loop' }), 50);
  onTestFinished(() => clearInterval(writing));
  for await (const event of streams.events<{ title: string }>('/blog-posts')) {
    if (event.type === 'created') expect(event.data?.title).toBe('in a loop');
    if (event.type === 'created') break;
  }
  expect(opened).toHaveLength(1);
  await expect(streams.events('/secrets').next()).rejects.toMatchObject({ status: 403 });
  const abort = new AbortController();
  const next = streams.events('/blog-posts', { where: { status: 'published' }, signal: abort.signal }).next();
  abort.abort(new Error('enough'));
  await expect(next).rejects.toThrow('enough');
});

test('the signal of an iteration may stand in the second argument, as in other methods', async () => {
  const client = createClient<typeof app>({ url });
  const abort = new AbortController();
  const next = client.blogPosts.events({ where: { status: 'published' } }, { signal: abort.signal }).next();
  abort.abort(new Error('enough'));
  await expect(next).rejects.toThrow('enough');
  await expect(client.blogPosts.events(undefined, { signal: abort.signal }).next()).rejects.toThrow('enough');
});

test('an app without realtime refuses subscriptions with an error that names the extension', async () => {
  const plain = await startTestApp({ resources: [defineUser(), post], extensions: [softDelete()] });
  const { log, errors } = record(createTestRealtime(plain.url), '/blog-posts');
  await noted(log, 'error');
  expect(errors[0]).toMatchObject({ status: 404, message: expect.stringContaining('realtime()') });
});

test('after a subscription was refused, a new one of the same client still works', async () => {
  const session = createTestRealtime(url);
  const refused = record(session, '/secrets');
  await noted(refused.log, 'error');
  const fine = record(session, '/blog-posts');
  await noted(fine.log, 'ready');
  const again = record(session, '/secrets');
  await noted(again.log, 'error');
  await posts.create({ title: 'works' });
  await noted(fine.log, 'created works');
});

test('a refused subscription and a new one at the same moment do not get in the way of each other', async () => {
  const session = createTestRealtime(url);
  const fine: ReturnType<typeof record>[] = [];
  const close = session.realtime.subscribe(
    '/secrets',
    {},
    {
      onError: () => fine.push(record(session, '/blog-posts')),
    },
  );
  onTestFinished(close);
  await vi.waitUntil(() => fine.length > 0, { timeout: 60_000 });
  await noted(fine[0]!.log, 'ready');
});

test('a slow loop gets a reset instead of the events that did not fit', async () => {
  const { realtime: streams } = createTestRealtime(url);
  const title = `slow ${Math.random()}`;
  const events = streams.events<{ title: string }>('/blog-posts', { maxWaiting: 3 });
  const writing = setInterval(() => void posts.create({ title: 'first' }), 50);
  await events.next();
  clearInterval(writing);
  const other = record(createTestRealtime(url), '/blog-posts');
  await noted(other.log, 'ready');
  for (let i = 0; i < 12; i += 1) await posts.create({ title });
  await noted(other.log, `created ${title}`, 12);
  const seen: string[] = [];
  while (seen.at(-1) !== 'last') {
    const { value } = await events.next();
    if (value === undefined) throw new Error('the loop has ended');
    seen.push(value.type === 'reset' ? value.reason : (value.data?.title ?? ''));
    if (value.type === 'reset') await posts.create({ title: 'last' });
  }
  expect(seen).toContain('too_slow');
  await events.return();
});
