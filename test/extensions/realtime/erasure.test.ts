import { once } from 'node:events';
import { connect } from 'node:net';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { defineResource, defineUser, f, privacy, realtime, softDelete } from '../../../src/index.ts';
import { type Person, startTestApp } from '../../support/app.ts';
import { type Listening, ready } from './listen.ts';

const city = () => f.string().filterable().pii();
const open = { list: 'public', read: 'public', create: 'authenticated' } as const;
const own = { list: 'owner | admin', read: 'owner | admin', create: 'authenticated' } as const;
const name = f.string().filterable();
const author = f.ref('user').owner();

const pet = defineResource('pet', {
  fields: { city: city(), land: f.string().required().default('none').filterable().pii(), name, author },
  policies: open,
  onOwnerDelete: 'anonymize',
});
const toy = defineResource('toy', {
  fields: {
    city: city(),
    note: f.string().filterable().visibleTo('owner').pii(),
    name,
    long: f.text().max(1_000_000),
    author,
  },
  policies: open,
  softDelete: true,
});
const diary = defineResource('diary', { fields: { city: city(), name, author }, policies: own });
const mark = defineResource('mark', { fields: { name }, policies: open });

const { app, url, person, env } = await startTestApp(
  {
    resources: [defineUser(), pet, toy, diary, mark],
    extensions: [realtime({ maxBufferedBytes: 100_000_000 }), privacy(), softDelete()],
  },
  { roles: 'all' },
);
const redis = new Redis(env.REDIS_URL!);
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(async () => {
  redis.disconnect();
  await database.end();
});
const bob = await person('Bob');

/** Returns the changes that a stream has received so far, without their other fields. */
async function changesOfStreams(...streams: Listening[]): Promise<object[][]> {
  const { id } = await app.service('mark').create({ name: 'last' });
  await Promise.all(streams.map((stream) => stream.wait((one) => one.data?.id === id)));
  const lists = streams.map((stream) => stream.changes().filter(({ event }) => event !== 'mark.created'));
  return lists.map((list) =>
    list.map(({ event, data: { id: of, data, previous } }) => ({ event, of, data, previous })),
  );
}

const streamOf = (...subscriptions: string[]) =>
  ready(url, ['mark', ...subscriptions].map((one) => `subscribe=${encodeURIComponent(one)}`).join('&'), bob);

test('a subscription that filters by an erased field gets only the id of a record that may have left the filter', async () => {
  const ann = await person('Ann');
  const make = async (path: string, values: object) =>
    (await ann.call('POST', `/api/${path}`, values)).body.data.id as string;
  const first = await streamOf('mark');
  const [pets, toys] = [
    await make('pets', { city: 'Paris', land: 'FR', name: 'p' }),
    await make('toys', { city: 'Paris', name: 't', note: 'n' }),
    await make('diaries', { city: 'Paris', name: 'd' }),
  ];
  await changesOfStreams(first);
  const after = first.lastId();

  const subscriptionLists = [
    ['pet?city=Paris', 'toy?city=Paris', 'diary?city=Paris'],
    ['pet?city=Paris&name=p', 'toy?city[in]=Oslo,Paris&name=t'],
    ['pet?city=Paris&name=x', 'toy?city=Paris&name=x'],
    ['pet?land=none', `pet/${pets}`],
    ['toy?note=n'],
    ['toy'],
  ];
  const streams: Listening[] = [];
  for (const subscriptions of subscriptionLists) streams.push(await streamOf(...subscriptions));
  expect((await ann.call('POST', '/api/auth/me/erase', { password: 'correct horse battery' })).status).toBe(202);
  await Promise.all([streams[3]!.named('pet.updated'), streams[5]!.named('toy.deleted')]);

  const [filtered, narrower, others, emptied, hidden, plain] = await changesOfStreams(...streams);
  const left = { event: 'pet.left', of: pets, data: undefined, previous: undefined };
  const gone = { event: 'toy.deleted', of: toys, data: undefined, previous: undefined };
  expect(filtered).toEqual([left, gone]);
  expect(narrower).toEqual([left, gone]);
  expect(others).toEqual([]);
  const now = expect.objectContaining({ id: pets, land: 'none', name: 'p' });
  expect(emptied).toEqual([
    { event: 'pet.updated', of: pets, data: now, previous: undefined },
    { event: 'pet.updated', of: pets, data: now, previous: expect.objectContaining({ id: pets, name: 'p' }) },
  ]);
  expect(hidden).toEqual([]);
  expect(plain).toEqual([{ ...gone, data: expect.objectContaining({ id: toys, name: 't' }) }]);

  // A client that reconnects gets the same.
  const query = ['pet?city=Paris', 'mark'].map((one) => `subscribe=${encodeURIComponent(one)}`).join('&');
  const back = await ready(url, query, { ...bob, after });
  expect((await changesOfStreams(back))[0]).toEqual([left]);
  const values = [...streams, back].flatMap((one) => one.changes().map(({ data }) => [data.data, data.previous]));
  expect(JSON.stringify(values)).not.toMatch(/Paris|FR/);
});

const post = async (who: Person, path: string, values: object) =>
  (await who.call('POST', `/api/${path}`, values)).body.data.id as string;
const eraseAccount = async (who: Person) => {
  expect((await who.call('POST', '/api/auth/me/erase', { password: 'correct horse battery' })).status).toBe(202);
  const finished = `select 1 from privacy_erasures where user_id = $1 and status = 'finished'`;
  await vi.waitUntil(async () => (await database.query(finished, [who.id])).rows.length > 0, { timeout: 60_000 });
};
const entries = async () => JSON.stringify(await redis.xrange(`${env.REDIS_PREFIX}:realtime`, '-', '+'));
const ALL = ['user', 'pet', 'toy', 'diary', 'mark'].map((one) => `subscribe=${one}`).join('&');

test('a stream that resumes after an erasure gets everything except what the erasure removed', async () => {
  const [cat, dan] = [await person('Cat'), await person('Dan', ['admin'])];
  const first = await ready(url, ALL, dan);
  await changesOfStreams(first);
  const after = first.lastId();
  const [pets, toys] = [
    await post(cat, 'pets', { city: 'Velvetown', name: 'p1' }),
    await post(cat, 'toys', { city: 'Velvetown', name: 'velvet toy', note: 'velvet note' }),
  ];
  await post(cat, 'diaries', { city: 'Velvetown', name: 'velvet diary' });
  await cat.call('PATCH', '/api/auth/me', { name: 'Velvet' });
  await cat.call('PATCH', `/api/toys/${toys}`, { name: 'velvet toy again' });
  await post(dan, 'pets', { name: 'kept' });
  await changesOfStreams(first);
  expect(JSON.stringify(first.received)).toMatch(/velvet toy again/);
  expect(await entries()).toMatch(/[Vv]elvet/);

  await eraseAccount(cat);
  await first.wait(({ event, data }) => event === 'toy.deleted' && data.id === toys);
  const back = await ready(url, ALL, { ...dan, after });
  const [changes] = await changesOfStreams(back);
  expect(JSON.stringify(back.received)).not.toMatch(/[Vv]elvet/);
  expect(back.received.map(({ event }) => event)).not.toContain('reset');
  expect(changes).toContainEqual(
    expect.objectContaining({ event: 'pet.created', data: expect.objectContaining({ name: 'kept' }) }),
  );
  expect(changes).toContainEqual({ event: 'toy.deleted', of: toys, data: undefined, previous: undefined });
  expect(changes).toContainEqual(expect.objectContaining({ event: 'pet.updated', of: pets }));
});

test('a stream that resumes before a deletion that an erasure removed is reset; one that resumes after it is not', async () => {
  const [cat, dan] = [await person('Cat'), await person('Dan', ['admin'])];
  const first = await ready(url, ALL, dan);
  const toys = await post(cat, 'toys', { name: 'satin toy' });
  await changesOfStreams(first);
  const before = first.lastId();
  expect((await cat.call('DELETE', `/api/toys/${toys}`)).status).toBe(204);
  await changesOfStreams(first);
  const behind = first.lastId();
  expect(await entries()).toMatch(/satin/);

  await eraseAccount(cat);
  expect(await entries()).not.toMatch(/satin/);
  const [over, beyond] = [
    await ready(url, ALL, { ...dan, after: before }),
    await ready(url, ALL, { ...dan, after: behind }),
  ];
  await changesOfStreams(over, beyond);
  expect(JSON.stringify([over.received, beyond.received])).not.toMatch(/satin/);
  expect(over.received.map(({ event }) => event)).toContain('reset');
  expect(beyond.received.map(({ event }) => event)).not.toContain('reset');
});

test('a client with unsent bytes is disconnected by an erasure, so that erased values are not sent', async () => {
  const cat = await person('Cat');
  const slow = connect(Number(new URL(url).port), '127.0.0.1');
  onTestFinished(() => void slow.destroy());
  const closed = once(slow, 'close');
  slow.pause();
  slow.write(`GET /api/realtime?subscribe=toy HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  const first = await ready(url, 'subscribe=toy', bob);
  const text = 'x'.repeat(900_000);
  let last = '';
  for (let i = 0; i < 16; i++) last = await post(cat, 'toys', { name: 'l', long: `linen ${i} ${text}` });
  await first.wait(({ data }) => data?.id === last);

  await eraseAccount(cat);
  await first.wait(({ event, data }) => event === 'toy.deleted' && data.id === last);
  const got: Buffer[] = [];
  slow.on('data', (chunk) => got.push(chunk)).on('error', () => undefined);
  slow.resume();
  await closed;
  const received = Buffer.concat(got).toString();
  expect(received).toContain('linen 0 ');
  expect(received).not.toContain('linen 15 ');
}, 120_000);

test('events that wait in Postgres for Redis are removed by an erasure', async () => {
  const cat = await person('Cat');
  const entry = (id: string, name: string, more: object) =>
    JSON.stringify([id, name, 'toy', new Date().toISOString(), { id: 'a'.repeat(24), name: 'damask', ...more }, null]);
  await database.query(`select pg_advisory_lock(hashtextextended('realtime_waiting', 0))`);
  await database.query(
    `insert into realtime_waiting (event_id, position, entry) values ('e1', 1, $1), ('e2', 2, $2), ('e3', 3, $3)`,
    [
      entry('e1', 'toy.created', { author: cat.id }),
      entry('e2', 'toy.deleted', { author: cat.id }),
      entry('e3', 'toy.created', { author: bob.id }),
    ],
  );
  const erased = eraseAccount(cat);
  const left = async () =>
    (await database.query('select event_id from realtime_waiting where position < 4 order by 1')).rows;
  await vi.waitFor(async () => expect(await left()).toEqual([{ event_id: 'dropped' }, { event_id: 'e3' }]), 20_000);
  await database.query(`select pg_advisory_unlock(hashtextextended('realtime_waiting', 0))`);
  await erased;
  const published: [id: string, fields: string[]][] = JSON.parse(await entries());
  const ofCat = published.map(([, fields]) => fields.join()).filter((text) => text.includes(cat.id));
  expect(ofCat.join('\n')).not.toContain('damask');
});
