import { expect, onTestFinished, test, vi } from 'vitest';
import { createApp, defineExtension, defineResource, defineUser, f } from '../../../../src/index.ts';
import type { OutboxRow } from '../../../../src/platform/work/outbox/table.ts';
import { startTestApp } from '../../../support/app.ts';

const HOUR = 3_600_000;
const task = defineResource('task', { fields: { title: f.string().required() } });

/** Handles every event by recording it. Events of a record titled `poison` throw while `poisoned` is set. */
const seen: OutboxRow[] = [];
let poisoned = true;
const titleOf = (row: OutboxRow) => (row.payload.record as { title?: string }).title;
const probe = () =>
  defineExtension({
    name: 'probe',
    setup: () => ({
      consumers: [
        {
          wants: (row) => row.name.startsWith('task.'),
          async handle(rows) {
            if (poisoned && rows.some((row) => titleOf(row) === 'poison')) throw new Error('cannot be handled');
            seen.push(...rows);
            return undefined;
          },
        },
      ],
    }),
  });

const options = {
  resources: [defineUser(), task],
  extensions: [probe()],
  // No test waits for the poll: events that arrive in time come from a wake-up.
  settings: { relay: { pollMs: HOUR, sweepMs: HOUR } },
};
const { app, env } = await startTestApp(options, { roles: ['web', 'relay'] });
const inTime = { timeout: 60_000, interval: 10 };

test('a change reaches the consumers through a wake-up, without waiting for the poll', async () => {
  const { id } = await app.service('task').create({ title: 'woken' });
  await vi.waitUntil(() => seen.some((row) => row.recordId === id), inTime);
  expect(seen.at(-1)).toMatchObject({ name: 'task.created', resource: 'task', recordId: id });
});

test('each of many changes, made one after the other, wakes the relay', async () => {
  for (let change = 0; change < 150; change++) {
    const { id } = await app.service('task').create({ title: 'one of many' });
    await vi.waitUntil(() => seen.some((row) => row.recordId === id), { ...inTime, interval: 1 });
  }
});

test('an update event contains the record before and after', async () => {
  const { id } = await app.service('task').create({ title: 'before' });
  await app.service('task').update(id, { title: 'after' });
  await vi.waitUntil(() => seen.some((row) => row.recordId === id && row.name === 'task.updated'), inTime);
  const { payload } = seen.find((row) => row.recordId === id && row.name === 'task.updated')!;
  expect(payload).toMatchObject({ record: { title: 'after' }, previous: { title: 'before' } });
});

test('an event that fails is deferred alone: it delays no other event and is handled later', async () => {
  const poison = await app.service('task').create({ title: 'poison' });
  const others = await Promise.all(Array.from({ length: 20 }, (_, i) => app.service('task').create({ title: `${i}` })));
  await vi.waitUntil(() => others.every(({ id }) => seen.some((row) => row.recordId === id)), inTime);
  expect(seen.some((row) => row.recordId === poison.id)).toBe(false);
  poisoned = false;
  // Its retry is hours away on this clock, so make it due; a later hint finds it.
  const { default: pg } = await import('pg');
  const client = new pg.Client(env.DATABASE_URL);
  await client.connect();
  const { rows } = await client.query(
    'update outbox set available_at = now() - make_interval(secs => 1) where record_id = $1 returning attempts, error',
    [poison.id],
  );
  await client.end();
  expect(rows[0]).toMatchObject({ error: 'Error: cannot be handled' });
  expect(rows[0].attempts).toBeGreaterThan(0);
  await app.service('task').create({ title: 'hint' });
  await vi.waitUntil(() => seen.some((row) => row.recordId === poison.id), inTime);
});

test('an event whose transaction commits after many later events were handled is not lost', async () => {
  const { default: pg } = await import('pg');
  const client = new pg.Client(env.DATABASE_URL);
  await client.connect();
  onTestFinished(() => client.end());
  const { id: copied } = await app.service('task').create({ title: 'late' });
  await client.query('begin');
  await client.query(
    `insert into outbox (event_id, name, resource, record_id, payload) values ($1, 'task.created', 'task', $1, $2)`,
    ['late', { record: seen.find((row) => row.recordId === copied)?.payload.record ?? { id: copied, title: 'late' } }],
  );
  const isHandled = (id: string) => seen.some((row) => row.recordId === id);
  const createAndAwait = async () => {
    const { id } = await app.service('task').create({ title: 'hint' });
    await vi.waitUntil(() => isHandled(id), inTime);
  };
  // Claims begin behind the events of the last second or two.
  for (const end = Date.now() + 2500; Date.now() < end; ) await createAndAwait();
  expect(isHandled('late')).toBe(false);
  await client.query('commit');
  while (!isHandled('late')) await createAndAwait();
});

test('the events of a transaction reach the consumers in the order of the changes', async () => {
  const titles = Array.from({ length: 60 }, (_, i) => `ordered ${i}`);
  await app.transaction(async (tx) => {
    for (const title of titles) await tx.service('task').create({ title });
  });
  const handled = () => seen.map(titleOf).filter((title) => title?.startsWith('ordered '));
  await vi.waitUntil(() => handled().length >= titles.length, inTime);
  expect(handled()).toEqual(titles);
});

test('with three concurrent relays, exactly one handles each event', async () => {
  const more = Array.from({ length: 2 }, () => createApp({ ...options, extensions: [probe()] }, env));
  for (const one of more) await one.start({ roles: ['relay'] });
  const made = await Promise.all(
    Array.from({ length: 300 }, (_, i) => app.service('task').create({ title: `shared ${i}` })),
  );
  await vi.waitUntil(() => made.every(({ id }) => seen.some((row) => row.recordId === id)), inTime);
  await Promise.all(more.map((one) => one.close()));
  const ids = new Set(made.map(({ id }) => id));
  expect(seen.filter((row) => ids.has(row.recordId!))).toHaveLength(300);
});
