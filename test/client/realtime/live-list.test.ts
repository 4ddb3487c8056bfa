import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import type { LiveListQuery } from '../../../packages/client/src/realtime/list-source.ts';
import type { LiveList } from '../../../packages/client/src/realtime/live-list.ts';
import { defineResource, defineUser, f, realtime, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';
import { createTestRealtime, type TestSession } from './session.ts';

const task = defineResource('task', {
  fields: {
    title: f.string().required().sortable().searchable(),
    rank: f.integer().sortable(),
    board: f.string().filterable(),
    parent: f.ref('task').filterable(),
  },
  policies: { list: 'public', read: 'public' },
  softDelete: true,
});
const note = defineResource('note', {
  fields: { title: f.string().required(), author: f.ref('user').owner() },
  policies: { list: 'authenticated', read: 'authenticated' },
  scope: ({ user }) => ({ author: user?.id }),
});
const timeless = defineResource('timeless', {
  fields: { title: f.string().required().sortable(), other: f.string() },
  policies: { list: 'public', read: 'public' },
  timestamps: false,
});

const { app, env, url, person } = await startTestApp(
  {
    resources: [defineUser(), task, note, timeless],
    extensions: [realtime({ heartbeatSeconds: 1 }), softDelete()],
    settings: { rateLimit: { enabled: false } },
  },
  { roles: ['web', 'relay'] },
);
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());
const [ada, bob] = [await person('Ada'), await person('Bob')];
const tasks = app.service(task);
const notes = app.service(note);

type Shown = Readonly<Record<string, unknown>>;
let boards = 0;

/** Opens a live list, and waits until it is loaded. */
async function open(session: TestSession, path: string, query?: LiveListQuery): Promise<LiveList<Shown>> {
  const list = session.realtime.liveList<Shown>(path, query);
  onTestFinished(() => list.close());
  expect(list.status).toBe('loading');
  await vi.waitUntil(() => list.status !== 'loading', { timeout: 60_000 });
  return list;
}
/**
 * A board of its own for a test, with tasks of the ranks 1, 2, … Waits until their events are in the stream: a list that receives them after
 * it was loaded only estimates its total.
 */
async function createBoard(count: number): Promise<{ board: string; ids: string[] }> {
  boards += 1;
  const board = `board ${boards}`;
  const made = await tasks.createMany(
    Array.from({ length: count }, (_, i) => ({ title: `t${i + 1}`, rank: i + 1, board })),
  );
  await vi.waitUntil(async () => (await database.query('select from outbox limit 1')).rowCount === 0, {
    timeout: 60_000,
  });
  return { board, ids: made.map(({ id }) => id) };
}
const titles = (list: LiveList<Shown>) => list.data.map(({ title }) => title);
const shows = (list: LiveList<Shown>, expected: readonly unknown[]) =>
  expect.poll(() => titles(list), { timeout: 60_000 }).toEqual(expected);

test('a live list follows creations, updates that move records, departures, deletions and restorations', async () => {
  const { board, ids } = await createBoard(3);
  const list = await open(createTestRealtime(url), '/tasks', { where: { board }, sort: ['-rank'] });
  expect(titles(list)).toEqual(['t3', 't2', 't1']);
  await tasks.update(ids[0]!, { rank: 10 });
  await shows(list, ['t1', 't3', 't2']);
  await tasks.create({ title: 'new', rank: 3, board });
  await shows(list, ['t1', 'new', 't3', 't2']);
  await tasks.update(ids[2]!, { board: 'elsewhere' });
  await tasks.delete(ids[0]!);
  await shows(list, ['new', 't2']);
  await tasks.restore(ids[0]!);
  await tasks.update(ids[2]!, { board });
  await shows(list, ['t1', 'new', 't3', 't2']);
  expect(list.meta).toEqual({ total: 4, totalCapped: false, totalEstimated: false, hasMore: false });
});

test('a snapshot never changes, stays the same object until something does, and shares unchanged records with the next one', async () => {
  const { board, ids } = await createBoard(2);
  const list = await open(createTestRealtime(url), '/tasks', { where: { board }, sort: ['rank'] });
  const snapshots = [list.getSnapshot()];
  list.subscribe(() => snapshots.push(list.getSnapshot()));
  expect(list.getSnapshot()).toBe(snapshots[0]);
  const before = structuredClone(snapshots[0]);
  await tasks.update(ids[1]!, { title: 'changed' });
  await shows(list, ['t1', 'changed']);
  await vi.waitUntil(() => snapshots.length > 1);
  expect(structuredClone(snapshots[0])).toEqual(before);
  expect(snapshots.at(-1)!.data[0]).toBe(snapshots[0]!.data[0]);
  expect(snapshots.at(-1)!.data[1]).not.toBe(snapshots[0]!.data[1]);
  expect(list.getSnapshot()).toBe(snapshots.at(-1));
  expect(new Set(snapshots).size).toBe(snapshots.length);
});

test('a removed record is replaced at once by the next one, and when no more are held, the list is loaded again', async () => {
  const { board, ids } = await createBoard(30);
  const session = createTestRealtime(url);
  const list = await open(session, '/tasks', { where: { board }, sort: ['rank'], limit: 10 });
  const lengths = new Set<number>();
  list.subscribe(() => lengths.add(list.data.length));
  const loads = session.requested.length;
  await tasks.delete(ids[0]!);
  await shows(
    list,
    Array.from({ length: 10 }, (_, i) => `t${i + 2}`),
  );
  expect(session.requested.length).toBe(loads);
  for (const id of ids.slice(1, 15)) await tasks.delete(id);
  await shows(
    list,
    Array.from({ length: 10 }, (_, i) => `t${i + 16}`),
  );
  expect(session.requested.length).toBeGreaterThan(loads);
});

test('a list that was opened while nothing matched shows as many records as a fresh one after most of them have left', async () => {
  const { board } = await createBoard(0);
  const list = await open(createTestRealtime(url), '/tasks', { where: { board }, sort: ['rank'], limit: 4 });
  expect(titles(list)).toEqual([]);
  const made = await tasks.createMany(
    Array.from({ length: 30 }, (_, i) => ({ title: `t${i + 1}`, rank: i + 1, board })),
  );
  await shows(list, ['t1', 't2', 't3', 't4']);
  for (const [i, { id }] of made.slice(0, 20).entries())
    await (i % 2 === 0 ? tasks.update(id, { board: 'elsewhere' }) : tasks.delete(id));
  await shows(list, ['t21', 't22', 't23', 't24']);
  expect(list.status).toBe('live');
});

test('loadMore shows more records, and new ones are followed as well', async () => {
  const { board, ids } = await createBoard(25);
  const list = await open(createTestRealtime(url), '/tasks', { where: { board }, sort: ['rank'], limit: 8 });
  expect([list.data.length, list.meta]).toMatchObject([8, { total: 25, hasMore: true }]);
  await list.loadMore();
  expect(list.data.length).toBe(16);
  await Promise.all([list.loadMore(), list.loadMore()]);
  expect([list.data.length, list.meta.hasMore]).toEqual([25, false]);
  await tasks.update(ids[24]!, { title: 'the last' });
  await expect.poll(() => titles(list).at(-1)).toBe('the last');
  const long = await open(createTestRealtime(url), '/tasks', { where: { board }, limit: 600 });
  await expect(long.loadMore()).rejects.toThrow('at most 1000');
});

test('a limit above the page size of the server is loaded in several pages', async () => {
  const { board } = await createBoard(130);
  const list = await open(createTestRealtime(url), '/tasks', { where: { board }, sort: ['rank'], limit: 120 });
  expect(titles(list)).toEqual(Array.from({ length: 120 }, (_, i) => `t${i + 1}`));
  expect(list.meta).toMatchObject({ total: 130, hasMore: true });
});

test('included records, searches and orders by other records are loaded again after a change', async () => {
  const { board, ids } = await createBoard(2);
  const session = createTestRealtime(url);
  await tasks.update(ids[1]!, { parent: ids[0]! });
  const included = await open(session, '/tasks', { where: { board }, sort: ['rank'], include: ['parent'] });
  const searched = await open(session, '/tasks', { where: { board }, sort: ['rank'], q: 'find' });
  const byParent = await open(session, '/tasks', { where: { board }, sort: ['parent.title', 'rank'] });
  expect(included.data[1]).toMatchObject({ parent: { title: 't1' } });
  expect(titles(byParent)).toEqual(['t2', 't1']);
  await tasks.update(ids[0]!, { parent: ids[1]!, title: 'find me' });
  await expect.poll(() => included.data[0], { timeout: 60_000 }).toMatchObject({ parent: { title: 't2' } });
  await shows(searched, ['find me']);
  await shows(byParent, ['t2', 'find me']);
});

test('selected fields are the only ones of a record, although the list is sorted by another one', async () => {
  const { board, ids } = await createBoard(2);
  const list = await open(createTestRealtime(url), '/tasks', { where: { board }, sort: ['-rank'], fields: ['title'] });
  await tasks.update(ids[0]!, { rank: 9 });
  await shows(list, ['t1', 't2']);
  expect(list.data).toEqual([
    { id: ids[0], title: 't1' },
    { id: ids[1], title: 't2' },
  ]);
});

test('resources without timestamps have live lists, too, with and without selected fields', async () => {
  const session = createTestRealtime(url);
  const service = app.service(timeless);
  const all = await open(session, '/timelesses', { sort: ['title'] });
  const some = await open(session, '/timelesses', { sort: ['-title'], fields: ['title'] });
  const { id } = await service.create({ title: 'b', other: 'x' });
  await service.create({ title: 'a' });
  await shows(all, ['a', 'b']);
  await shows(some, ['b', 'a']);
  expect(some.data[0]).toEqual({ id, title: 'b' });
  await service.delete(id);
  await shows(all, ['a']);
  await shows(some, ['a']);
});

test('while the connection is lost, the list says so and keeps its records, and then shows what it has missed', async () => {
  const { board, ids } = await createBoard(2);
  const proxy = await startTcpProxy(new URL(url));
  onTestFinished(() => proxy.close());
  const list = await open(createTestRealtime(proxy.url), '/tasks', { where: { board }, sort: ['rank'] });
  proxy.shut();
  await vi.waitUntil(() => list.status === 'reconnecting', { timeout: 60_000 });
  expect(titles(list)).toEqual(['t1', 't2']);
  await tasks.update(ids[0]!, { title: 'missed' });
  proxy.reopen();
  await shows(list, ['missed', 't2']);
  expect([list.status, list.error]).toEqual(['live', undefined]);
});

test('after a sign-in as another user, nothing of the first user remains, and a refused list becomes live', async () => {
  await notes.create({ title: 'of Ada', author: ada.id });
  await notes.create({ title: 'of Bob', author: bob.id });
  const session = createTestRealtime(url, ada.token);
  const list = await open(session, '/notes');
  expect(titles(list)).toEqual(['of Ada']);
  session.signIn(undefined);
  await vi.waitUntil(() => list.status !== 'live');
  expect(list.data).toEqual([]);
  await vi.waitUntil(() => list.status === 'closed', { timeout: 60_000 });
  expect(list.error).toMatchObject({ status: 401 });
  session.signIn(bob.token);
  await shows(list, ['of Bob']);
  expect([list.status, list.error]).toEqual(['live', undefined]);
});

test('a query that the server refuses closes the list with its error', async () => {
  const session = createTestRealtime(url);
  for (const query of [{ where: { title: 'x' } }, { sort: ['board'] }, { fields: ['nothing'] }]) {
    const list = await open(session, '/tasks', query);
    expect([list.status, list.data, list.error]).toMatchObject(['closed', [], { status: 400 }]);
    await expect(list.loadMore()).rejects.toMatchObject({ status: 400 });
  }
  expect(() => session.realtime.liveList('/tasks', { limit: 0 })).toThrow('from 1 to 1000');
});

test('a closed list keeps its records, follows no changes, and its listeners hear of the end only', async () => {
  const { board, ids } = await createBoard(1);
  const session = createTestRealtime(url);
  const [closed, other] = [
    await open(session, '/tasks', { where: { board } }),
    await open(session, '/tasks', { where: { board } }),
  ];
  const statuses: string[] = [];
  closed.subscribe(() => statuses.push(closed.status));
  closed.close();
  await tasks.update(ids[0]!, { title: 'later' });
  await shows(other, ['later']);
  expect([titles(closed), statuses]).toEqual([['t1'], ['closed']]);
  await expect(closed.loadMore()).rejects.toThrow('closed');
});
