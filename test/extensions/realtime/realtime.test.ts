import { expect, test } from 'vitest';
import { apiKeys, createApp, defineResource, defineUser, f, realtime, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { listen, type Received, ready } from './listen.ts';

const post = defineResource('post', {
  fields: {
    title: f.string().required().searchable(),
    status: f.enum(['draft', 'published']).default('draft').filterable(),
    points: f.integer().filterable(),
    secret: f.string().hidden(),
    pin: f.string().writeOnly(),
    grade: f.string().filterable().visibleTo('editor'),
    note: f.string().filterable().visibleTo('owner'),
    author: f.ref('user').owner().populate(),
  },
  policies: { list: 'public', read: 'public', create: 'authenticated' },
  scope: ({ user }) => (user?.roles?.includes('admin') ? undefined : [{ status: 'published' }, { author: user?.id }]),
  softDelete: true,
});
const plain = defineResource('plain', {
  fields: {
    title: f.string().filterable(),
    note: f.string().visibleTo('owner'),
    grade: f.string().visibleTo('editor'),
    author: f.ref('user').owner().populate(),
  },
  policies: { list: 'authenticated', read: 'authenticated' },
});
const diary = defineResource('diary', {
  fields: { text: f.string(), owner: f.ref('user').owner() },
  policies: { list: 'owner | admin', read: 'owner | admin' },
});
const policyCallers: (string | undefined)[] = [];
const room = defineResource('room', {
  fields: { name: f.string(), members: f.array(f.id()), public: f.boolean().default(false) },
  policies: {
    list: 'authenticated',
    read: ({ user, doc }) => {
      policyCallers.push(user?.id);
      if (doc.name === 'broken') throw new Error('a policy that fails');
      return doc.public || (user !== undefined && (doc.members ?? []).includes(user.id));
    },
    create: 'authenticated',
  },
});
const inner = defineResource('inner', { fields: { name: f.string() }, crud: false });

const { app, call, person, url } = await startTestApp(
  {
    resources: [defineUser({ roles: ['user', 'admin', 'editor'] }), post, plain, diary, room, inner],
    // A client that reads nothing between two heartbeats is disconnected, so the time between them must be longer than this process is ever busy.
    extensions: [realtime({ heartbeatSeconds: 2, maxSubscriptions: 3 }), softDelete(), apiKeys()],
    settings: { rateLimit: { enabled: false } },
  },
  { roles: ['web', 'relay'] },
);
const [ada, bob] = [await person('Ada'), await person('Bob')];
const editor = await person('Editor', ['user', 'editor']);
const admin = await person('Admin', ['user', 'admin']);
const posts = app.service(post);
const plains = app.service(plain);

/** Creates a post that every stream receives, as the last event. Any event that has not arrived before it will not arrive. */
async function settled(...streams: Awaited<ReturnType<typeof listen>>[]): Promise<void> {
  const { id } = await posts.create({ title: 'last', status: 'published', author: admin.id });
  await Promise.all(streams.map((stream) => stream.wait((one) => one.data?.id === id)));
}

test('an event contains the record as a read returns it, and its previous state', async () => {
  const stream = await ready(url, 'subscribe=post');
  expect(stream.headers.get('content-type')).toBe('text/event-stream');
  expect(stream.headers.get('cache-control')).toBe('no-store, no-transform');
  expect(stream.headers.get('x-accel-buffering')).toBe('no');
  const made = await posts.create({ title: 'one', status: 'published', secret: 's', pin: 'p', author: ada.id });
  const created = await stream.named('post.created');
  const { body } = await call('GET', `/api/posts/${made.id}`);
  expect(created.data).toEqual({
    subscription: 'post',
    event: expect.stringMatching(/^[0-9a-f]{24}$/),
    at: expect.any(String),
    id: made.id,
    data: body.data,
  });
  expect(body.data.author).toEqual(expect.objectContaining({ id: ada.id, name: 'Ada' }));
  await posts.update(made.id, { title: 'two' });
  const updated = await stream.named('post.updated');
  expect(updated.data.data.title).toBe('two');
  expect(updated.data.previous).toEqual(body.data);
  await posts.delete(made.id);
  const deleted = await stream.named('post.deleted');
  expect(deleted.data.data.title).toBe('two');
  await posts.restore(made.id);
  const restored = await stream.named('post.restored');
  expect(restored.data.data.id).toBe(made.id);
});

test('hidden and write-only fields are never on a stream, not even for an admin', async () => {
  const streams = [await ready(url, 'subscribe=post', admin), await ready(url, 'subscribe=post', ada)];
  const made = await posts.create({ title: 'x', status: 'published', secret: 'hush1', pin: 'hush2', author: ada.id });
  await posts.update(made.id, { secret: 'hush3', pin: 'hush4' });
  await settled(...streams);
  for (const { received } of streams) expect(JSON.stringify(received)).not.toContain('hush');
});

test.each([
  ['secret=x', 'secret'],
  ['pin=x', 'pin'],
  ['title=x', 'title'],
  ['nothing=x', 'nothing'],
  ['points[like]=1', 'points'],
  ['points=many', 'points'],
  ['q=one', 'q'],
  ['sort=-createdAt', 'sort'],
  ['page=2', 'page'],
])(
  'a subscription with the filter %s is refused, both as a query parameter and inside the subscription',
  async (filter, named) => {
    for (const query of [`subscribe=post&${filter}`, `subscribe=${encodeURIComponent(`post?${filter}`)}`]) {
      const { status, body } = await listen(url, query, admin);
      expect([status, body.error.code]).toEqual([400, 'BAD_REQUEST']);
      expect(body.error.message).toContain(named);
    }
  },
);

test.each([
  ['', 400, /subscribe/],
  ['subscribe=nothing', 400, /"nothing".*post/],
  ['subscribe=inner', 400, /"inner"/],
  ['subscribe=post/nothing', 404, /./],
  ['subscribe=post/aaaaaaaaaaaaaaaaaaaaaaaa', 404, /./],
  ['subscribe=user', 401, /./],
  ['subscribe=diary', 401, /./],
  ['subscribe=post&subscribe=plain', 401, /./],
  ['subscribe=post&subscribe=room&subscribe=plain&subscribe=diary', 400, /at most 3/],
  ['subscribe=post&subscribe=plain&status=draft', 400, /"status" belongs to no subscription/],
  ['subscribe=post&ticket=svc_rt_x', 401, /ticket/],
  ['subscribe=post&ticket=a&ticket=b', 400, /"ticket" must be given once/],
  [`subscribe=${'x'.repeat(4001)}`, 400, /4000 characters/],
])('without a session, %s gets the status %s', async (query, status, message) => {
  const answer = await listen(url, query);
  expect([answer.status, answer.body.error.message]).toEqual([status, expect.stringMatching(message)]);
});

test('a subscription requires the list policy, and it does not reveal records that the caller may not read', async () => {
  expect((await listen(url, 'subscribe=user', ada)).status).toBe(403);
  const { id } = await posts.create({ title: 'draft', author: bob.id });
  expect((await listen(url, `subscribe=post/${id}`, ada)).status).toBe(404);
  expect((await listen(url, `subscribe=post/${id}`, bob)).status).toBe(200);
});

test('an event reaches only viewers whose scope includes the record', async () => {
  const [none, own, other, all] = await Promise.all([
    ready(url, 'subscribe=post'),
    ready(url, 'subscribe=post', ada),
    ready(url, 'subscribe=post', bob),
    ready(url, 'subscribe=post', admin),
  ]);
  const { id } = await posts.create({ title: 'a draft', author: ada.id });
  await settled(none, own, other, all);
  const got = [none, own, other, all].map(({ changes }) => changes().some(({ data }) => data.id === id));
  expect(got).toEqual([false, true, false, true]);
});

test('a record that becomes visible has no previous state; one that becomes invisible sends only its id', async () => {
  const stream = await ready(url, 'subscribe=post');
  const { id } = await posts.create({ title: 'secret draft', author: ada.id });
  await posts.update(id, { status: 'published' });
  const entered = await stream.named('post.updated');
  expect(entered.data).toMatchObject({ id, data: { title: 'secret draft' } });
  expect(entered.data).not.toHaveProperty('previous');
  await posts.update(id, { status: 'draft', title: 'changed in secret' });
  const left = await stream.named('post.left');
  expect(Object.keys(left.data).sort()).toEqual(['at', 'event', 'id', 'subscription']);
  await posts.update(id, { title: 'again' });
  await posts.delete(id);
  await settled(stream);
  expect(JSON.stringify(stream.received)).not.toContain('in secret');
  expect(stream.changes().filter(({ data }) => data.id === id)).toHaveLength(2);
});

test('list filters limit a subscription, and a record that leaves the filter sends an event', async () => {
  const stream = await ready(url, `subscribe=${encodeURIComponent('post?points[gte]=10&status=published')}`);
  const published = (points: number) => posts.create({ title: 'p', status: 'published', points, author: ada.id });
  const low = await published(9);
  const high = await published(10);
  await posts.update(low.id, { points: 11 });
  await posts.update(high.id, { points: 3 });
  await stream.named('post.left');
  expect(stream.changes().map(({ event, data }) => [event, data.id])).toEqual([
    ['post.created', high.id],
    ['post.updated', low.id],
    ['post.left', high.id],
  ]);
});

test('a subscription to a single record gets its deletion', async () => {
  const [one, two] = await Promise.all(
    ['one', 'two'].map((title) => posts.create({ title, status: 'published', author: ada.id })),
  );
  const stream = await ready(url, `subscribe=post/${one!.id}`);
  await posts.update(two!.id, { title: 'zwei' });
  await posts.update(one!.id, { title: 'eins' });
  await posts.delete(one!.id);
  await stream.named('post.deleted');
  // The relay may pass on its creation only now.
  const later = stream.changes().filter(({ event }) => event !== 'post.created');
  expect(later.map(({ event, data }) => [event, data.id])).toEqual([
    ['post.updated', one!.id],
    ['post.deleted', one!.id],
  ]);
});

test('visibleTo applies per viewer and record, also to the previous state', async () => {
  const streams = await Promise.all([ada, bob, editor].map((who) => ready(url, 'subscribe=plain', who)));
  const made = await plains.create({ title: 't', note: 'of ada', grade: 'A', author: ada.id });
  await plains.update(made.id, { note: 'of ada too', grade: 'B' });
  const seen = [];
  for (const stream of streams) {
    const { data, previous } = (await stream.named('plain.updated')).data;
    seen.push([data.note, data.grade, previous.note, previous.grade]);
    expect(data.author.email === undefined).toBe(stream !== streams[0]);
  }
  expect(seen).toEqual([
    ['of ada too', undefined, 'of ada', undefined],
    [undefined, undefined, undefined, undefined],
    [undefined, 'B', undefined, 'A'],
  ]);
});

test('when a record changes its owner, the old owner sees the previous state and the new owner the current one', async () => {
  const [first, second] = await Promise.all([ada, bob].map((who) => ready(url, 'subscribe=plain', who)));
  const made = await plains.create({ title: 't', note: 'before', author: ada.id });
  await plains.update(made.id, { note: 'after', author: bob.id } as never);
  const of = async (stream: typeof first) => {
    const { data, previous } = (await stream!.named('plain.updated')).data;
    return [previous.note, data.note];
  };
  expect([await of(first), await of(second)]).toEqual([
    ['before', undefined],
    [undefined, 'after'],
  ]);
});

test('a filter on a field that is visible only to owners matches only the viewer’s own records', async () => {
  const stream = await ready(url, 'subscribe=post&note=x', ada);
  await posts.create({ title: 'theirs', status: 'published', note: 'x', author: bob.id });
  const own = await posts.create({ title: 'own', status: 'published', note: 'x', author: ada.id });
  await stream.named('post.created');
  expect(stream.changes().map(({ data }) => data.id)).toEqual([own.id]);
});

test('a list whose policy is limited to own records sends only own records', async () => {
  const [own, all] = [await ready(url, 'subscribe=diary', ada), await ready(url, 'subscribe=diary', admin)];
  const diaries = app.service(diary);
  const theirs = await diaries.create({ text: 'bob', owner: bob.id });
  const mine = await diaries.create({ text: 'ada', owner: ada.id });
  await all.wait(({ data }) => data?.id === mine.id);
  await own.named('diary.created');
  expect(own.changes().map(({ data }) => data.id)).toEqual([mine.id]);
  expect(all.changes().map(({ data }) => data.id)).toEqual([theirs.id, mine.id]);
});

test('a policy function runs once per user for all of their streams, and one that throws sends nothing', async () => {
  const rooms = app.service(room);
  const streams = await Promise.all([ada, ada, ada, bob].map((who) => ready(url, 'subscribe=room', who)));
  policyCallers.length = 0;
  await rooms.create({ name: 'broken', members: [ada.id, bob.id] });
  const { id } = await rooms.create({ name: 'r', members: [ada.id] });
  const open = await rooms.create({ name: 'open', public: true });
  await Promise.all(streams.map((stream) => stream.wait(({ data }) => data?.id === open.id)));
  const got = streams.map(({ changes }) => changes().map(({ data }) => data.id));
  expect(got).toEqual([[id, open.id], [id, open.id], [id, open.id], [open.id]]);
  expect(policyCallers.filter((one) => one === ada.id)).toHaveLength(3);
});

test('several subscriptions share a stream, and each event names its subscription', async () => {
  const query = ['post', 'post?status=draft', 'plain'].map((one) => `subscribe=${encodeURIComponent(one)}`).join('&');
  const stream = await ready(url, query, admin);
  const made = await posts.create({ title: 'd', author: ada.id });
  const { id } = await plains.create({ title: 'p', author: ada.id });
  await stream.wait(({ data }) => data?.id === id);
  expect(stream.changes().map(({ data }) => [data.subscription, data.id])).toEqual([
    ['post', made.id],
    ['post?status=draft', made.id],
    ['plain', id],
  ]);
});

/** Creates a post, and returns it with the last event id that a client received before it disconnected. */
async function leavePost(): Promise<{ id: string; lastId: string }> {
  const { id } = await posts.create({ title: '0', status: 'published', author: ada.id });
  const stream = await ready(url, `subscribe=post/${id}`);
  await posts.update(id, { title: '1' });
  await stream.wait(({ data }) => data?.data?.title === '1');
  stream.close();
  return { id, lastId: stream.lastId()! };
}

/**
 * Returns the changes that a client processes if it skips events that it already knows: if Redis responds late, the relay sends events
 * twice.
 *
 * @param known the ids of events that the client received earlier
 */
function skipRepeated(changes: readonly Received[], known: readonly string[] = []): Received[] {
  const seen = new Set(known);
  return changes.filter(({ data }) => !seen.has(data.event) && seen.add(data.event));
}

test('a resuming client that skips repeated events gets every missed event once and in order, also of deleted records', async () => {
  const { id, lastId } = await leavePost();
  for (const title of ['2', '3', '4']) await posts.update(id, { title });
  await posts.delete(id);
  const back = await ready(url, `subscribe=post/${id}`, { after: lastId });
  // The relay may add it only now.
  await back.named('post.deleted');
  const changes = skipRepeated(back.changes());
  expect(changes.map(({ event, data }) => [event, data.data.title])).toEqual([
    ['post.updated', '2'],
    ['post.updated', '3'],
    ['post.updated', '4'],
    ['post.deleted', '4'],
  ]);
  const again = await ready(url, `subscribe=post/${id}&lastEventId=${changes[1]!.id}`);
  const known = changes.slice(0, 2).map(({ data }) => data.event);
  expect(skipRepeated(again.changes(), known).map(({ data }) => data.data.title)).toEqual(['4', '4']);
});

test('a resuming client that skips repeated events gets many large changes in order, although they exceed the buffer limit', async () => {
  const { id, lastId } = await leavePost();
  const titles = Array.from({ length: 40 }, (_, i) => `${i} `.padEnd(200_000, 'x'));
  for (const title of titles) await posts.update(id, { title });
  await posts.delete(id);
  const back = await ready(url, `subscribe=post/${id}`, { after: lastId });
  await back.named('post.deleted');
  expect(back.received.some(({ event }) => event === 'reset')).toBe(false);
  const updates = skipRepeated(back.changes()).filter(({ event }) => event === 'post.updated');
  expect(updates.map(({ data }) => data.data.title.slice(0, 3))).toEqual(titles.map((title) => title.slice(0, 3)));
});

test.each(['nonsense', '0-0', '1-1', '99999999999999-0'])(
  'a client that resumes with the id %s, which is outside the window, gets a reset',
  async (after) => {
    const stream = await ready(url, 'subscribe=post', { after });
    expect(stream.received.slice(0, 2).map(({ event }) => event)).toEqual(['reset', 'ready']);
    await settled(stream);
  },
);

test('a stream sends heartbeats whose ids advance with the events', async () => {
  const stream = await ready(url, `subscribe=post&status=draft`);
  const before = stream.lastId();
  await posts.create({ title: 'not for it', status: 'published', author: ada.id });
  await stream.wait(({ event, id }) => event === 'heartbeat' && id !== before);
});

test('HEAD does not open a stream', async () => {
  const response = await fetch(`${url}/api/realtime?subscribe=post`, { method: 'HEAD' });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
});

test('an API key can subscribe to what its scopes allow, and needs a scope for streams', async () => {
  const keyWith = async (...scopes: string[]) => {
    const { body } = await ada.call('POST', '/api/auth/api-keys', { name: scopes.join(), scopes });
    return { token: body.data.key as string };
  };
  expect((await listen(url, 'subscribe=post', await keyWith('posts:read'))).body.error.message).toContain(
    'realtime:read',
  );
  const some = await keyWith('realtime:read', 'posts:read');
  expect((await listen(url, 'subscribe=plain', some)).body.error.message).toContain('plains:read');
  expect((await listen(url, 'subscribe=post', some)).status).toBe(200);
  const stream = await ready(url, 'subscribe=plain', await keyWith('read'));
  const { id } = await plains.create({ title: 'k', note: 'n', author: ada.id });
  expect((await stream.wait(({ data }) => data?.id === id)).data.data.note).toBe('n');
});

test('the OpenAPI document describes the stream and the tickets', async () => {
  const { body } = await call('GET', '/api/openapi.json');
  const { get } = body.paths['/api/realtime'];
  expect(Object.keys(get.responses['200'].content)).toEqual(['text/event-stream']);
  expect(get.responses).not.toHaveProperty('304');
  expect(get.parameters.map(({ name }: { name: string }) => name)).toEqual(['subscribe', 'ticket', 'lastEventId']);
  expect(get.security).toEqual([]);
  expect(get['x-required-scope']).toBe('realtime:read');
  expect(Object.keys(body.paths['/api/realtime/ticket'].post.responses)).toContain('201');
});

test.each([
  [{ windowSeconds: 0 }, 'realtime.windowSeconds'],
  [{ maxStreams: -1 }, 'realtime.maxStreams'],
  [{ policy: 'Public' }, 'realtime.policy'],
  [{ colour: 'red' }, 'realtime.colour: there is no such setting'],
])('an invalid setting is reported at start: %j', (settings, message) => {
  expect(() => createApp({ resources: [post], extensions: [realtime(settings as never), softDelete()] }, {})).toThrow(
    message,
  );
});
