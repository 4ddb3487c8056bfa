import { Client } from 'pg';
import { expect, test, vi } from 'vitest';
import { API, startOperationsApp } from './operations-app.ts';

const { env, admin, read, entryOf } = await startOperationsApp();

async function query(text: string, values: unknown[] = []): Promise<unknown[][]> {
  const client = new Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  try {
    return (await client.query({ text, values, rowMode: 'array' })).rows;
  } finally {
    await client.end();
  }
}

test('each queue has its numbers and the processes that work on it', async () => {
  const queues = await read('/queues');
  expect(queues).toContainEqual({
    name: 'job.tidy',
    ...{ waiting: 0, active: 0, delayed: 0, failed: 0, oldestSeconds: null },
    ...{ workers: 1, concurrency: 5, failures: [] },
  });
  expect((await read('/jobs')).kinds[0]).toMatchObject({ name: 'tidy' });
});

test('an unknown queue or entry is not found', async () => {
  for (const [method, path] of [
    ['GET', '/queues/nope/failed'],
    ['GET', '/queues/__proto__/failed'],
    ['POST', '/queues/mail/failed/nope/retry'],
    ['DELETE', '/queues/mail/failed/nope'],
  ] as const)
    expect([path, (await admin.call(method, API + path)).status]).toEqual([path, 404]);
  expect(await read('/queues/mail/failed')).toEqual([]);
});

test('a row that failed is listed with its error, and retried on request, which is recorded', async () => {
  await query(
    `insert into outbox (event_id, name, payload, available_at, attempts, error)
     values ('one', 'unknown.event', '{}', now() + interval '1 hour', 3, 'no such endpoint')`,
  );
  const outbox = await vi.waitUntil(async () => {
    const state = await read('/outbox');
    return state.stuck.length > 0 && state;
  });
  const [row] = outbox.stuck;
  expect(row).toMatchObject({ name: 'unknown.event', attempts: 3, error: 'no such endpoint' });
  expect(outbox.events).toContainEqual(expect.objectContaining({ name: 'unknown.event', failing: 1, attempts: 3 }));
  const retried = await admin.call('POST', `${API}/outbox/${row.id}/retry`);
  expect([retried.status, retried.body.data]).toEqual([200, { rows: 1 }]);
  await expect.poll(() => query('select id from outbox'), { timeout: 5000 }).toEqual([]);
  expect((await admin.call('POST', `${API}/outbox/${row.id}/retry`)).body.error.code).toBe('CONFLICT');
  expect(await entryOf('console.outboxRetried')).toMatchObject({
    resource: 'outbox',
    user: admin.id,
    details: { id: row.id },
  });
});

test('hostile ids of rows are refused', async () => {
  for (const id of ['0', '-1', '1e9', "1'--", '99999999999999999999999999'])
    expect((await admin.call('POST', `${API}/outbox/${encodeURIComponent(id)}/retry`)).status).toBe(409);
});
