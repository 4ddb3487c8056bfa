// Lists, and exports of personal data, of apps with a real streaming replica. The replica lags exactly when a test pauses it.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { apiKeys, createApp, defineResource, defineUser, f, privacy, softDelete } from '../../../../src/index.ts';
import { fetched, finished } from '../../../extensions/privacy/export/app.ts';
import { createClient, startTestApp } from '../../../support/app.ts';
import { startReplicatedPostgres, trustRedis } from '../../../support/database/replicated-postgres.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';

const servers = await startReplicatedPostgres();
const addresses = await servers.createDatabase();
const topic = defineResource('topic', {
  fields: { name: f.string().required() },
  policies: { list: 'public', read: 'public', reference: 'public', create: 'public', update: 'public' },
});
const note = defineResource('note', {
  fields: {
    text: f.string().required().searchable().filterable(),
    topic: f.ref('topic'),
    author: f.ref('user').owner(),
  },
  policies: { list: 'public', read: 'public', create: 'authenticated', update: 'owner', delete: 'owner' },
  aggregates: {},
  softDelete: true,
});
const options = {
  resources: [defineUser(), topic, note],
  extensions: [apiKeys({ defaultScopes: ['notes:read'] }), softDelete()],
  settings: { auth: { password: { logN: 4, r: 8, p: 1 } } },
} as const;
// A lag that no test reaches: these tests are about what the replica has, not about how old it is.
const REDIS_PREFIX = `replica-${randomBytes(4).toString('hex')}`;
const variables = { ...addresses, REDIS_PREFIX, DATABASE_REPLICA_MAX_LAG_MS: '300000', METRICS_TOKEN: 'scrape' };
await trustRedis(REDIS_PREFIX);
const { app, url, call, person, env } = await startTestApp(options, { roles: 'all', env: () => variables });

/** Starts another `web` process of the app. Returns its address. */
async function startOtherProcess(more: Record<string, string> = {}): Promise<string> {
  const app = createApp(options, { ...env, ...more });
  onTestFinished(() => app.close());
  return (await app.start({ port: 0, roles: ['web'] })).url;
}

async function scrape(from: string, name: string): Promise<number> {
  const response = await fetch(`${from}/metrics`, { headers: { authorization: 'Bearer scrape' } });
  const line = (await response.text()).split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.split(' ')[1]);
}

const waitUntil = (condition: () => Promise<boolean>) => vi.waitUntil(condition, { timeout: 60_000, interval: 50 });
/** Waits until lists of clients that are not signed in are read from the replica. */
const waitUntilInUse = (from = url) => waitUntil(async () => (await scrape(from, 'belfry_db_replica_in_use')) === 1);

const textsIn = ({ body }: { body: { data: { text: string }[] } }) => body.data.map(({ text }) => text).sort();
const listTexts = async (client: typeof call, query = '') => textsIn(await client('GET', `/api/notes${query}`));

/** Waits until the lists of a client come from the replica. */
async function waitUntilUnpinned(client: typeof call): Promise<void> {
  const fromReplica = () => scrape(url, 'belfry_db_replica_lists_total{target="replica",reason="none"}');
  await waitUntil(async () => {
    const before = await fromReplica();
    await client('GET', '/api/notes');
    return (await fromReplica()) > before;
  });
}

/** Makes the replica lag for the time of a test. */
async function pause(): Promise<void> {
  await servers.pause();
  onTestFinished(() => servers.resume());
}

/** Waits until the replica has what is committed now, and the app knows it. */
async function catchUp(client: typeof call, text: string): Promise<void> {
  await servers.resume();
  await waitUntil(async () => (await listTexts(client, `?text=${text}`)).length > 0);
}

test('lists, searches, totals and references come from the replica, reads by id from the primary', async () => {
  const [ann, other] = [await person('Ann'), await person('Ben')];
  const { body } = await call('POST', '/api/topics', { name: 'before' });
  await ann.call('POST', '/api/notes', { text: 'first', topic: body.data.id });
  await waitUntilInUse();
  await catchUp(other.call, 'first');
  await waitUntilUnpinned(other.call);
  await pause();
  await call('PATCH', `/api/topics/${body.data.id}`, { name: 'after' });
  const created = await ann.call('POST', '/api/notes', { text: 'second first' });
  for (const client of [call, other.call]) {
    expect(await listTexts(client)).toEqual(['first']);
    expect(await listTexts(client, '?q=first')).toEqual(['first']);
    expect((await client('GET', '/api/notes')).body.meta.total).toBe(1);
    const { data } = (await client('GET', '/api/notes?include=topic')).body;
    expect(data[0].topic.name).toBe('before');
    expect((await client('GET', `/api/notes/${created.body.data.id}`)).status).toBe(200);
    expect((await client('GET', `/api/topics/${body.data.id}`)).body.data.name).toBe('after');
  }
  await catchUp(call, 'second%20first');
  expect((await call('GET', '/api/notes')).body.meta.total).toBe(2);
});

test('a list or an aggregate sends its statements to one server: the replica, or the primary after a change of the user', async () => {
  const ann = await person('Ann');
  const { body } = await ann.call('POST', '/api/notes', { text: 'counted' });
  await waitUntilInUse();
  await catchUp(ann.call, 'counted');
  await waitUntilUnpinned(ann.call);
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  onTestFinished(() => sent.mockRestore());
  const portOf = (address: string) => Number(new URL(address).port);
  /** Counts the statements that read notes, on the primary and on the replica. */
  const countAt = async (path: string): Promise<[number, number]> => {
    sent.mockClear();
    expect((await ann.call('GET', path)).status).toBe(200);
    const ports = sent.mock.calls.flatMap(([one], i) => {
      const { text = '' } = one as unknown as { text?: string };
      return text.includes('from "notes"') ? [(sent.mock.contexts[i] as pg.Client).port] : [];
    });
    const count = (address: string) => ports.filter((port) => port === portOf(address)).length;
    return [count(addresses.DATABASE_URL), count(addresses.DATABASE_REPLICA_URL)];
  };
  expect(await countAt('/api/notes')).toEqual([0, 2]);
  expect(await countAt('/api/notes/aggregate')).toEqual([0, 1]);
  expect(await countAt('/api/notes?q=counted')).toEqual([0, 2]);
  expect(await countAt('/api/notes?count=none')).toEqual([0, 1]);
  expect(await countAt(`/api/notes/${body.data.id}`)).toEqual([1, 0]);
  await pause();
  await ann.call('PATCH', `/api/notes/${body.data.id}`, { text: 'counted again' });
  expect(await countAt('/api/notes')).toEqual([2, 0]);
  expect(await countAt('/api/notes/aggregate')).toEqual([1, 0]);
});

test('a user sees their own changes in every process and with every credential, and others see them later', async () => {
  const ann = await person('Ann');
  const key = await ann.call('POST', '/api/auth/api-keys', { name: 'script', scopes: ['notes:read'] });
  const otherUrl = await startOtherProcess();
  await Promise.all([waitUntilInUse(), waitUntilInUse(otherUrl)]);
  await pause();
  const { body } = await ann.call('POST', '/api/notes', { text: 'own' });
  const clients = [url, otherUrl].flatMap((each) =>
    [ann.token, key.body.data.key].map((token) => createClient(each, token)),
  );
  for (const client of clients) {
    expect(await listTexts(client, '?text=own')).toEqual(['own']);
    expect((await client('GET', '/api/notes?text=own')).body.meta.total).toBe(1);
  }
  expect(await listTexts(call, '?text=own')).toEqual([]);
  await ann.call('PATCH', `/api/notes/${body.data.id}`, { text: 'own too' });
  for (const client of clients) expect(await listTexts(client, '?q=own')).toEqual(['own too']);
  expect((await ann.call('DELETE', `/api/notes/${body.data.id}`)).status).toBe(204);
  for (const client of clients) expect(await listTexts(client, '?q=own')).toEqual([]);
});

test('once the replica has a user’s change, the lists of that user come from it again', async () => {
  const ann = await person('Ann');
  await ann.call('POST', '/api/notes', { text: 'replayed' });
  await waitUntilInUse();
  await catchUp(call, 'replayed');
  await waitUntilUnpinned(ann.call);
});

test('a new user sees the records that their registration made', async () => {
  await waitUntilInUse();
  await pause();
  const admin = await person('Root', ['admin']);
  const { body } = await admin.call('GET', '/api/users?limit=100');
  expect(body.data.map(({ id }: { id: string }) => id)).toContain(admin.id);
});

test('the next page of a list is never older than the page before', async () => {
  const ann = await person('Ann');
  for (const text of ['p1', 'p2', 'p3']) await ann.call('POST', '/api/notes', { text });
  await waitUntilInUse();
  await catchUp(call, 'p3');
  await pause();
  await ann.call('POST', '/api/notes', { text: 'p4' });
  const query = '/api/notes?text[in]=p1,p2,p3,p4&sort=createdAt&limit=3';
  const first = await ann.call('GET', query);
  expect(textsIn(first)).toEqual(['p1', 'p2', 'p3']);
  const { body: secondPage } = await ann.call('GET', query.replace('limit=3', 'limit=1'));
  const third = await ann.call('GET', `${query.replace('limit=3', 'limit=1')}&after=${secondPage.meta.next}`);
  // The first page decides how old later ones may be, so that a client that pages fast returns to the replica.
  expect(third.body.meta.next.split('.')[1]).toBe(secondPage.meta.next.split('.')[1]);
  // Somebody else continues: only the cursor says that its page came from the primary.
  const next = await call('GET', `${query}&after=${first.body.meta.next}`);
  expect(textsIn(next)).toEqual(['p4']);
  const stale = await call('GET', query);
  expect(stale.body.meta).toMatchObject({ total: 3 });
  expect(stale.body.meta.next).toBeUndefined();
});

test('a client can ask for the newest state', async () => {
  const ann = await person('Ann');
  await waitUntilInUse();
  await pause();
  await ann.call('POST', '/api/notes', { text: 'fresh' });
  expect(await listTexts(call, '?text=fresh')).toEqual([]);
  const listWith = async (value: string) =>
    textsIn(await call('GET', '/api/notes?text=fresh', undefined, { 'cache-control': value }));
  for (const value of ['no-cache', 'No-Cache, x']) expect(await listWith(value), value).toEqual(['fresh']);
  for (const value of ['max-age=0', 'no-store']) expect(await listWith(value), value).toEqual([]);
});

test('lists of deleted records follow the same rules, and lists that code reads come from the primary', async () => {
  const ann = await person('Ann');
  const { body } = await ann.call('POST', '/api/notes', { text: 'gone' });
  await waitUntilInUse();
  await catchUp(call, 'gone');
  await pause();
  await ann.call('DELETE', `/api/notes/${body.data.id}`);
  expect(await listTexts(call, '?text=gone')).toEqual(['gone']);
  expect(await listTexts(ann.call, '?text=gone')).toEqual([]);
  expect(await listTexts(ann.call, '?text=gone&deleted=only')).toEqual(['gone']);
  expect(await app.service('note').count({ text: 'gone' })).toBe(0);
});

test('a replica that lags more than allowed is not used, until it has caught up', async () => {
  const ann = await person('Ann');
  const otherUrl = await startOtherProcess({ DATABASE_REPLICA_MAX_LAG_MS: '1000' });
  await Promise.all([waitUntilInUse(), waitUntilInUse(otherUrl)]);
  await servers.pause();
  await ann.call('POST', '/api/notes', { text: 'late' });
  const other = createClient(otherUrl);
  await waitUntil(async () => (await listTexts(other, '?text=late')).length === 1);
  expect(await scrape(otherUrl, 'belfry_db_replica_in_use')).toBe(0);
  expect(await scrape(otherUrl, 'belfry_db_replica_lag_seconds')).toBeGreaterThan(1);
  expect(await listTexts(call, '?text=late')).toEqual([]);
  await servers.resume();
  await waitUntilInUse(otherUrl);
  expect(await listTexts(other, '?text=late')).toEqual(['late']);
});

test('a role that was taken away ends access at once, whatever the replica has', async () => {
  const admin = await person('Root', ['admin']);
  const second = await person('Second', ['admin']);
  await waitUntilInUse();
  await pause();
  expect((await second.call('GET', '/api/users')).status).toBe(200);
  await admin.call('PATCH', `/api/users/${second.id}`, { roles: ['user'] });
  expect((await second.call('GET', '/api/users')).status).toBe(403);
  await admin.call('PATCH', `/api/users/${second.id}`, { status: 'disabled' });
  expect((await second.call('GET', '/api/notes')).status).toBe(401);
});

const diary = defineResource('diary', { fields: { text: f.text().required(), author: f.ref('user').owner() } });
const exportAddresses = await servers.createDatabase();
const proxy = await startTcpProxy(new URL(exportAddresses.DATABASE_REPLICA_URL));
/** The app of the exports. They must be complete in every case, and are read from the replica if it is recent enough. */
const exporting = await startTestApp(
  { resources: [defineUser(), diary], extensions: [privacy()] },
  {
    roles: 'all',
    env: () => ({ ...exportAddresses, DATABASE_REPLICA_URL: proxy.url, DATABASE_REPLICA_MAX_LAG_MS: '1000' }),
  },
);

/** Writes a diary entry and exports the user's data at once. Returns the entries in the export. */
async function writeAndExport(name: string): Promise<string[]> {
  const { call } = await exporting.person(name);
  await call('POST', '/api/diaries', { text: `of ${name}` });
  const { url: link } = await finished(call);
  const files = await fetched(link, exporting);
  return files['records/diaries.ndjson'].map(({ text }: { text: string }) => text);
}

/** The number of record files that were read from the replica since the last call. */
function countReads(): number {
  const sent = Buffer.concat(proxy.sent.splice(0)).toString('latin1');
  return sent.split('declare scan no scroll cursor').length - 1;
}

test('an export is read from the replica, and includes what the user has just written', async () => {
  // The first attempt may meet a replica that is still catching up with the creation of the tables.
  await servers.waitUntilCaughtUp();
  countReads();
  expect(await writeAndExport('Ann')).toEqual(['of Ann']);
  expect(countReads()).toBeGreaterThan(0);
});

test('an export is read from the primary while the replica lags or is down, and is complete', async () => {
  await pause();
  expect(await writeAndExport('Ben')).toEqual(['of Ben']);
  expect(countReads()).toBe(0);
  await servers.resume();
  proxy.shut();
  onTestFinished(() => proxy.reopen());
  expect(await writeAndExport('Cleo')).toEqual(['of Cleo']);
});
