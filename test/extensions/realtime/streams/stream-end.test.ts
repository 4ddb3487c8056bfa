import { once } from 'node:events';
import { connect } from 'node:net';
import { Client } from 'pg';
import { EventSource } from 'undici';
import { afterAll, expect, test, vi } from 'vitest';
import { apiKeys, createApp, defineResource, defineUser, f, realtime } from '../../../../src/index.ts';
import { createClient, startTestApp } from '../../../support/app.ts';
import { listen, ready } from '../listen.ts';

const options = {
  resources: [
    defineUser({ fields: { team: f.string() }, roles: ['user', 'admin', 'editor'] }),
    defineResource('note', {
      fields: { title: f.text(), team: f.string().filterable(), author: f.ref('user').owner() },
      policies: { list: ({ user }) => user?.team !== 'none', read: 'public', create: 'authenticated' },
      scope: ({ user }) => (user?.team === undefined ? undefined : { team: user.team }),
    }),
    defineResource('word', {
      fields: { title: f.text() },
      policies: { list: 'editor', read: 'editor', create: 'authenticated' },
    }),
  ],
  extensions: [
    realtime({
      heartbeatSeconds: 0.2,
      maxStreamsPerUser: 6,
      maxStreamsPerAddress: 7,
      maxStreams: 40,
      maxBufferedBytes: 100_000,
      ticketTtl: '30s',
      policy: ({ user }) => user?.team !== 'no streams',
    }),
    apiKeys(),
  ],
} as const;
const { app, url, call, env, person } = await startTestApp(
  { ...options, settings: { rateLimit: { enabled: false }, auth: {} } },
  { roles: ['web', 'relay'], env: () => ({ METRICS_TOKEN: 'of-the-test' }) },
);
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());
const notes = app.service('note');
const users = app.service('user');

/** Starts a second web process of the app, which shares only Postgres and Redis with the first. */
async function startSecond() {
  const second = createApp({ ...options, settings: { rateLimit: { enabled: false } } }, env);
  const { url: there } = await second.start({ port: 0, roles: ['web'] });
  return { second, there };
}

const { second, there } = await startSecond();
const admin = await person('Admin', ['user', 'admin']);

test.each([
  ['a logout', (who: typeof admin) => who.call('POST', '/api/auth/logout')],
  ['a logout everywhere', (who: typeof admin) => who.call('POST', '/api/auth/logout-all')],
  ['being disabled', (who: typeof admin) => admin.call('PATCH', `/api/users/${who.id}`, { status: 'disabled' })],
  ['being deleted', (who: typeof admin) => admin.call('DELETE', `/api/users/${who.id}`)],
  ['the loss of a role', (who: typeof admin) => admin.call('PATCH', `/api/users/${who.id}`, { roles: ['user'] })],
])('%s ends the streams of a user in every process, and no further events are sent', async (_, happen) => {
  const who = await person('Who', ['user', 'editor']);
  const streams = [await ready(url, 'subscribe=note&subscribe=word', who), await ready(there, 'subscribe=note', who)];
  const other = await ready(there, 'subscribe=note');
  expect((await happen(who)).status).toBeLessThan(300);
  await Promise.all(streams.map(({ ended }) => ended));
  const { id } = await notes.create({ title: 'afterwards' });
  await other.wait(({ data }) => data?.id === id);
  for (const { received, changes } of streams) {
    expect(received.at(-1)).toMatchObject({
      event: 'end',
      data: { reason: expect.stringMatching(/signed_out|access_changed/) },
    });
    expect(changes()).toEqual([]);
  }
});

test('ending one session leaves the streams of other sessions open', async () => {
  const who = await person('Two');
  const { body } = await call('POST', '/api/auth/login', { email: who.email, password: 'correct horse battery' });
  const [first, next] = [
    await ready(url, 'subscribe=note', who),
    await ready(url, 'subscribe=note', { token: body.data.token }),
  ];
  await who.call('POST', '/api/auth/logout');
  await first.ended;
  const { id } = await notes.create({ title: 'x' });
  await next.wait(({ data }) => data?.id === id);
});

test('a revoked API key ends its streams', async () => {
  const who = await person('Key');
  const { body } = await who.call('POST', '/api/auth/api-keys', { name: 'k', scopes: ['read'] });
  const [byKey, bySession] = [
    await ready(there, 'subscribe=note', { token: body.data.key }),
    await ready(there, 'subscribe=note', who),
  ];
  await who.call('DELETE', `/api/auth/api-keys/${body.data.id}`);
  await byKey.ended;
  const { id } = await notes.create({ title: 'x' });
  await bySession.wait(({ data }) => data?.id === id);
});

test('an open stream applies policies and scopes to the current state of the user', async () => {
  const who = await person('Mover');
  await users.update(who.id, { team: 'a' });
  const stream = await ready(there, 'subscribe=note', who);
  const first = await notes.create({ title: 'x', team: 'a' });
  await stream.wait(({ data }) => data?.id === first.id);
  await users.update(who.id, { team: 'b' });
  const hasChangeOfTeamB = () => stream.changes().some(({ data }) => data.data.team === 'b');
  await vi.waitFor(
    async () => {
      await notes.create({ title: 'y', team: 'b' });
      if (!hasChangeOfTeamB()) throw new Error('not yet');
    },
    { timeout: 60_000, interval: 50 },
  );
  const third = await notes.create({ title: 'x', team: 'a' });
  const last = await notes.create({ title: 'y', team: 'b' });
  await stream.wait(({ data }) => data?.id === last.id);
  expect(stream.received.some(({ data }) => data?.id === third.id)).toBe(false);
});

test('a stream ends when its user may no longer subscribe', async () => {
  const who = await person('Outcast');
  const stream = await ready(url, 'subscribe=note', who);
  await users.update(who.id, { team: 'none' });
  await stream.ended;
  expect(stream.received.at(-1)!.data).toEqual({ reason: 'access_changed' });
  expect((await listen(url, 'subscribe=note', who)).status).toBe(403);
});

test('a stream ends when its user may no longer open streams', async () => {
  const who = await person('Streamless');
  const stream = await ready(url, 'subscribe=note', who);
  await users.update(who.id, { team: 'no streams' });
  await stream.ended;
  expect(stream.received.at(-1)!.data).toEqual({ reason: 'access_changed' });
  expect((await listen(url, 'subscribe=note', who)).status).toBe(403);
});

test('removing a role directly in the database ends the stream', async () => {
  const who = await person('Demoted', ['user', 'editor']);
  const stream = await ready(url, 'subscribe=word', who);
  await database.query(`update users set roles = '{user}' where id = $1`, [who.id]);
  await stream.ended;
  expect(stream.received.at(-1)!.data).toEqual({ reason: 'access_changed' });
});

test('a ticket opens one stream, and a new ticket resumes it with the last event id', async () => {
  const who = await person('Browser');
  const ticketOf = async () => (await who.call('POST', '/api/realtime/ticket')).body.data.ticket as string;
  const got: string[] = [];
  const open = async (query: string) => {
    const source = new EventSource(`${there}/api/realtime?subscribe=note&${query}`);
    source.addEventListener('note.created', (event) => got.push(JSON.parse((event as MessageEvent).data).data.title));
    await new Promise((resolve, reject) => {
      source.addEventListener('ready', resolve);
      source.addEventListener('error', reject);
    });
    return source;
  };
  const ticket = await ticketOf();
  const source = await open(`ticket=${ticket}`);
  let lastId = '';
  source.addEventListener('note.created', (event) => (lastId = (event as MessageEvent).lastEventId));
  await notes.create({ title: 'one' });
  await vi.waitUntil(() => lastId !== '', { timeout: 60_000 });
  source.close();
  await notes.create({ title: 'two' });
  const back = await open(`ticket=${await ticketOf()}&lastEventId=${lastId}`);
  await vi.waitUntil(() => got.length > 1, { timeout: 60_000 });
  back.close();
  expect(got).toEqual(['one', 'two']);
  const again = await listen(there, `subscribe=note&ticket=${ticket}`);
  expect([again.status, again.body.error.code]).toEqual([401, 'UNAUTHORIZED']);
});

test('a ticket used ten times at once opens one stream; a ticket of an ended session opens none', async () => {
  const who = await person('Often');
  const { body } = await who.call('POST', '/api/realtime/ticket');
  const query = `subscribe=note&ticket=${body.data.ticket}`;
  const answers = await Promise.all(Array.from({ length: 10 }, () => listen(url, query)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)]);
  const { body: late } = await who.call('POST', '/api/realtime/ticket');
  await who.call('POST', '/api/auth/logout');
  expect((await listen(url, `subscribe=note&ticket=${late.data.ticket}`)).status).toBe(401);
});

test('a ticket requires a session', async () => {
  const who = await person('Ticket');
  expect((await call('POST', '/api/realtime/ticket')).status).toBe(401);
  const { body } = await who.call('POST', '/api/auth/api-keys', { name: 'k', scopes: ['*'] });
  expect((await createClient(url, body.data.key)('POST', '/api/realtime/ticket')).status).toBe(403);
  const { headers, body: made } = await who.call('POST', '/api/realtime/ticket');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(made.data).toEqual({ ticket: expect.stringMatching(/^svc_rt_/), expiresAt: expect.any(String) });
});

test('a user cannot open more streams than the limit, and closing one makes room for another', async () => {
  const who = await person('Many');
  const streams = await Promise.all(Array.from({ length: 6 }, () => ready(url, 'subscribe=note', who)));
  const refused = await listen(url, 'subscribe=note', who);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10']);
  streams[0]!.close();
  await vi.waitUntil(async () => (await listen(url, 'subscribe=note', who)).status === 200, { timeout: 60_000 });
});

test('an address cannot open more anonymous streams than the limit, and refused ones do not count', async () => {
  const refused = await Promise.all(Array.from({ length: 10 }, () => listen(there, 'subscribe=word')));
  expect(refused.every(({ status }) => status === 401 || status === 429)).toBe(true);
  await Promise.all(Array.from({ length: 7 }, () => ready(there, 'subscribe=note')));
  expect((await listen(there, 'subscribe=note')).status).toBe(429);
});

test('a client that does not read is disconnected, and the others are not affected', async () => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write('GET /api/realtime?subscribe=note HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'readable');
  const other = await ready(url, 'subscribe=note');
  const text = 'x'.repeat(500_000);
  const metric = async () => /belfry_realtime_cut_off_total (\d+)/.exec(await metrics())?.[1];
  const before = Number(await metric());
  await vi.waitFor(
    async () => {
      await notes.create({ title: text });
      if (Number(await metric()) === before) throw new Error('not yet');
    },
    { timeout: 60_000, interval: 5 },
  );
  const { id } = await notes.create({ title: 'small' });
  await other.wait(({ data }) => data?.id === id);
  socket.destroy();
});

test('a stopping process ends its streams and sends a reconnect delay', async () => {
  const stream = await ready(there, 'subscribe=note');
  const raw = await fetch(`${there}/api/realtime?subscribe=note`);
  const stopping = second.close();
  const text = await raw.text();
  await stream.ended;
  await stopping;
  expect(stream.received.at(-1)).toMatchObject({ event: 'end', data: { reason: 'shutdown' } });
  expect(text).toMatch(/retry: \d+\nevent: end\n/);
});

async function metrics(): Promise<string> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer of-the-test' } });
  return response.text();
}
