import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { createAppender } from '../../../../src/extensions/realtime/events/appender.ts';
import { createRealtimeSweeps } from '../../../../src/extensions/realtime/events/forwarding.ts';
import { createApp, defineResource, defineUser, f, realtime, webhooks } from '../../../../src/index.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { startTestApp } from '../../../support/app.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';
import { ready } from '../listen.ts';

const options = {
  resources: [
    defineUser(),
    defineResource('note', {
      fields: { title: f.string(), author: f.ref('user').owner() },
      policies: { list: 'public', read: 'public', create: 'authenticated' },
    }),
  ],
  extensions: [realtime({ heartbeatSeconds: 0.2 }), webhooks({ allowPrivate: true, requireHttps: false })],
  settings: { rateLimit: { enabled: false }, relay: { pollMs: 50 } },
} as const;

let proxy: Awaited<ReturnType<typeof startTcpProxy>> | undefined;
const { app, url, env, person } = await startTestApp(options, {
  env: () => ({ METRICS_TOKEN: 'of-the-test' }),
  roles: ['web', 'relay', 'webhook-worker'],
});
afterAll(() => proxy?.close());
const redis = new Redis(env.REDIS_URL!);
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(async () => {
  redis.disconnect();
  await database.end();
});
const notes = app.service('note');
const key = `${env.REDIS_PREFIX}:realtime`;
const titles = (stream: Awaited<ReturnType<typeof ready>>) => stream.changes().map(({ data }) => data.data.title);
const until = (condition: () => unknown) => vi.waitUntil(condition, { timeout: 60_000, interval: 20 });
const waiting = async () => Number((await database.query('select count(*) from realtime_waiting')).rows[0].count);

/** A process of the app whose Redis connection can be interrupted. */
async function startBehindProxy(roles: readonly ('web' | 'relay')[]) {
  proxy ??= await startTcpProxy(new URL(env.REDIS_URL!));
  const other = createApp(options, { ...env, REDIS_URL: proxy.url, LOG_LEVEL: 'silent' });
  onTestFinished(() => other.close());
  const started = await other.start({ port: 0, roles });
  return { url: started.url, service: other.service('note'), proxy, close: () => other.close() };
}

test.each(['shut', 'hang'] as const)(
  'while Redis is down (%s) streams stay open, and they catch up when it recovers',
  async (how) => {
    const web = await startBehindProxy(['web']);
    const stream = await ready(web.url, 'subscribe=note');
    await notes.create({ title: 'before' });
    await stream.named('note.created');
    web.proxy[how]();
    for (const title of ['one', 'two', 'three']) await notes.create({ title });
    // The relay has added them; only this process cannot read them.
    const here = await ready(url, 'subscribe=note');
    await notes.create({ title: 'four' });
    await here.named('note.created');
    expect(titles(stream)).toEqual(['before']);
    web.proxy.reopen();
    await stream.wait(({ data }) => data?.data?.title === 'four');
    expect(titles(stream)).toEqual(['before', 'one', 'two', 'three', 'four']);
    expect(stream.received.some(({ event }) => event === 'reset')).toBe(false);
  },
);

test('a stream opened while Redis is unreachable starts when Redis recovers', async () => {
  const web = await startBehindProxy(['web']);
  web.proxy.shut();
  const opening = ready(web.url, 'subscribe=note');
  const here = await ready(url, 'subscribe=note');
  expect(here.received[0]!.event).toBe('ready');
  web.proxy.reopen();
  const stream = await opening;
  const { id } = await notes.create({ title: 'x' });
  await stream.wait(({ data }) => data?.id === id);
});

test('after the last stream closes during a Redis outage, the next one starts when Redis recovers, and the process can stop during the outage', async () => {
  const web = await startBehindProxy(['web']);
  const metrics = async () =>
    (await fetch(`${web.url}/metrics`, { headers: { authorization: 'Bearer of-the-test' } })).text();
  const isDegraded = async () =>
    ((await (await fetch(`${web.url}/readyz`)).json()) as { status: string }).status === 'degraded';
  const first = await ready(web.url, 'subscribe=note');
  web.proxy.shut();
  // It waits between two connection attempts.
  await until(isDegraded);
  first.close();
  await until(async () => (await metrics()).includes('belfry_realtime_streams 0'));
  web.proxy.reopen();
  const second = await ready(web.url, 'subscribe=note');
  web.proxy.shut();
  await until(isDegraded);
  await web.close();
  await second.ended;
  web.proxy.reopen();
});

test('waiting events are moved in parts and in order, however large they are', async () => {
  // The lock keeps the relay of the app from moving the events, so that only this test does.
  await database.query(`select pg_advisory_lock(hashtextextended('realtime_waiting', 0))`);
  await database.query(
    `insert into realtime_waiting (event_id, position, entry)
     select 'large' || n, n, n || repeat('x', 1000000) from generate_series(1, 20) n union all select 'small', 21, '21x'`,
  );
  const moved: string[][] = [];
  const add = async (entries: readonly (readonly [string, string])[]) =>
    Boolean(moved.push(entries.map(([, text]) => text.split('x', 1)[0]!)));
  const query = async (statement: { text: string; values: unknown[] }) =>
    (await database.query({ text: statement.text, values: statement.values, rowMode: 'array' })).rows;
  const own = { read: query, write: query, transaction: (work: (tx: object) => unknown) => work({ write: query }) };
  const [move] = createRealtimeSweeps(
    { database: own } as never,
    { addEntries: add, addTickAndTrim: async () => undefined },
    { windowSeconds: 600 },
  );
  await move!.run();
  await database.query('select pg_advisory_unlock_all()');
  expect(moved.flat()).toEqual(Array.from({ length: 21 }, (_, i) => String(i + 1)));
  expect(moved.map((part) => part.length)).toEqual([8, 8, 5]);
});

test('while the relay has no Redis, changes wait in Postgres, stay in order, and do not delay webhooks', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const ann = await person('Ann');
  await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'] });
  const stream = await ready(url, 'subscribe=note');
  // The error of a full Redis, for this key only.
  await redis.rename(key, `${key}:aside`);
  await redis.set(key, 'not a stream');
  await until(async () => (await redis.type(key)) === 'string');
  for (const title of ['1', '2', '3']) await notes.create({ title });
  await receiver.received(3, 60_000);
  expect(await waiting()).toBe(3);
  await redis.rename(`${key}:aside`, key);
  await notes.create({ title: '4' });
  await stream.wait(({ data }) => data?.data?.title === '4');
  expect(titles(stream)).toEqual(['1', '2', '3', '4']);
  await until(async () => (await waiting()) === 0);
});

test('events that waited longer than the window are dropped, and open streams get a reset', async () => {
  const stream = await ready(url, 'subscribe=note');
  await database.query(
    `insert into realtime_waiting (event_id, position, entry, created_at)
     select 'e' || n, n, '["e","note.created","note","",{},null]', now() - interval '1 hour' from generate_series(1, 3) n`,
  );
  await stream.named('reset');
  await until(async () => (await waiting()) === 0);
  expect(stream.changes()).toEqual([]);
});

test('after Redis is emptied, open streams get a reset and continue', async () => {
  const stream = await ready(url, 'subscribe=note');
  await redis.del(key);
  const { id } = await notes.create({ title: 'after' });
  await stream.wait(({ data }) => data?.id === id);
  expect(stream.received.map(({ event }) => event).filter((event) => event !== 'heartbeat')).toEqual([
    'ready',
    'reset',
    'note.created',
  ]);
  const back = await ready(url, 'subscribe=note', { after: stream.received[0]!.id });
  expect(back.received.slice(0, 2).map(({ event }) => event)).toEqual(['reset', 'ready']);
});

test('an event that arrives twice is sent once', async () => {
  const stream = await ready(url, 'subscribe=note');
  const { id } = await notes.create({ title: 'twice' });
  await stream.wait(({ data }) => data?.id === id);
  const [entry] = await redis.xrevrange(key, '+', '-', 'COUNT', 1);
  await redis.xadd(key, '*', ...entry![1]);
  const { id: last } = await notes.create({ title: 'last' });
  await stream.wait(({ data }) => data?.id === last);
  expect(titles(stream)).toEqual(['twice', 'last']);
});

test('an unreadable entry does not block the stream and causes a reset', async () => {
  const stream = await ready(url, 'subscribe=note');
  await redis.xadd(key, '*', 'e', 'no JSON');
  await redis.xadd(key, '*', 'e', '["x","gone.created","gone","",{},null]');
  const { id } = await notes.create({ title: 'next' });
  await stream.wait(({ data }) => data?.id === id);
  expect(stream.received.some(({ event }) => event === 'reset')).toBe(true);
});

test('hundreds of clients that resume at once get everything they missed', async () => {
  const first = await ready(url, 'subscribe=note');
  first.close();
  const made = await Promise.all(Array.from({ length: 50 }, (_, i) => notes.create({ title: `n${i}` })));
  const ids = made.map((one) => one.id).sort();
  const streams = await Promise.all(
    Array.from({ length: 90 }, () => ready(url, 'subscribe=note', { after: first.lastId() })),
  );
  await Promise.all(streams.map(({ changes }) => until(() => changes().length >= 50)));
  for (const { changes } of streams)
    expect(
      changes()
        .map(({ data }) => data.id)
        .sort(),
    ).toEqual(ids);
});

test('a busy process is not mistaken for a Redis outage', async () => {
  const own = `${env.REDIS_PREFIX}:busy`;
  const warnings: unknown[] = [];
  const log = { warn: (...warning: unknown[]) => warnings.push(warning) };
  const host = { redis: { commands: redis, onPossibleFailover() {} }, env: { redisPrefix: own }, log } as never;
  const appender = createAppender(host, { windowSeconds: 60, windowEvents: 10_000 });
  const adding = appender.addEntries([['e', 'x'.repeat(4_000_000)]]);
  for (const end = performance.now() + 700; performance.now() < end; );
  expect([await adding, warnings]).toEqual([true, []]);
});

test('the window is limited by age and number, and nothing inside it is dropped', async () => {
  const own = `${env.REDIS_PREFIX}:window`;
  const host = {
    redis: { commands: redis, onPossibleFailover() {} },
    env: { redisPrefix: own },
    log: { warn: () => undefined },
  } as never;
  const stream = `${own}:realtime`;
  const byAge = createAppender(host, { windowSeconds: 60, windowEvents: 10_000 });
  for (let n = 1; n <= 300; n++) await redis.xadd(stream, `${n}-0`, 'e', '');
  const young = await redis.xadd(stream, '*', 'e', '');
  await byAge.addTickAndTrim();
  // Redis removes whole blocks of a hundred entries.
  expect(await redis.xlen(stream)).toBeLessThan(110);
  expect((await redis.xrange(stream, young!, '+')).length).toBe(2);
  const byNumber = createAppender(host, { windowSeconds: 60, windowEvents: 200 });
  expect(await byNumber.addEntries(Array.from({ length: 1000 }, () => ['e', ''] as const))).toBe(true);
  const left = await redis.xlen(stream);
  expect(left >= 200 && left <= 310).toBe(true);
});
