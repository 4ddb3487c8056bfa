import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { findsRowSql, type Sweep } from '../../../../src/extension/index.ts';
import { defineExtension, defineResource, defineUser, f } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';

const task = defineResource('task', { fields: { title: f.string().required() } });
const inTime = { timeout: 60_000, interval: 10 };

/** Starts a relay that looks for work 50 times a second, with sweeps of these conditions. Counts its checks and the runs of each sweep. */
async function startRelay(conditions: readonly (string | undefined)[]) {
  const handled: string[] = [];
  const counts = { checks: 0, runs: conditions.map(() => 0) };
  const sweeps = conditions.map((condition, i): Sweep => {
    const run = async () => {
      counts.runs[i]! += 1;
    };
    return { name: `sweep ${i}`, everyMs: 20, ...(condition === undefined ? {} : { condition }), run };
  });
  sweeps[0]!.onChecked = () => {
    counts.checks += 1;
  };
  const probe = defineExtension({
    name: 'probe',
    setup: () => ({
      sweeps,
      consumers: [
        { wants: () => true, handle: async (rows) => void handled.push(...rows.map(({ eventId }) => eventId)) },
      ],
    }),
  });
  const { app, env } = await startTestApp(
    { resources: [defineUser(), task], extensions: [probe], settings: { relay: { pollMs: 20 } } },
    { roles: ['web', 'relay'] },
  );
  const insertEvent = async (id: string) => {
    const client = new pg.Client(env.DATABASE_URL);
    await client.connect();
    await client.query(
      `insert into outbox (event_id, name, resource, record_id, payload) values ($1, 'task.created', 'task', $1, '{"record":{}}')`,
      [id],
    );
    await client.end();
  };
  return { app, counts, handled, insertEvent };
}

const IS_TASK_DUE = findsRowSql(`select from tasks where title = 'due' limit 1`);

test('a sweep runs while its condition is true, also if another sweep has the same condition', async () => {
  const { app, counts } = await startRelay([IS_TASK_DUE, IS_TASK_DUE, 'false', undefined]);
  const waitForChecks = async (count: number) => {
    const from = counts.checks;
    await vi.waitUntil(() => counts.checks >= from + count, inTime);
  };
  await waitForChecks(5);
  await vi.waitUntil(() => counts.runs[3]! >= 3, inTime);
  expect(counts.runs.slice(0, 3)).toEqual([0, 0, 0]);

  const { id } = await app.service('task').create({ title: 'due' });
  await vi.waitUntil(() => counts.runs[0]! >= 2 && counts.runs[1]! >= 2, inTime);

  await app.service('task').delete(id);
  await waitForChecks(3);
  const after = counts.runs.slice(0, 3);
  await waitForChecks(5);
  expect(counts.runs.slice(0, 3)).toEqual(after);
  expect(after[2]).toBe(0);
});

test('an event that no wake-up announces is handled', async () => {
  const { handled, insertEvent } = await startRelay(['false']);
  await insertEvent('unannounced');
  await vi.waitUntil(() => handled.includes('unannounced'), inTime);
});

test('if a condition cannot be checked, all sweeps run and events are handled', async () => {
  const { counts, handled, insertEvent } = await startRelay(['false', 'no_such_column > 0', 'true']);
  await vi.waitUntil(() => counts.runs.every((runs) => runs >= 2), inTime);
  await insertEvent('unannounced');
  await vi.waitUntil(() => handled.includes('unannounced'), inTime);
  expect(counts.checks).toBe(0);
});
