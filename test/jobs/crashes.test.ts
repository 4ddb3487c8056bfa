import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { Client } from 'pg';
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { findAssembly } from '../../src/runtime/create-app.ts';
import { deleteRedisKeys } from '../../src/testing/servers/redis-keys.ts';
import { app as createApp, report } from '../fixtures/background/app.ts';
import { createTestDatabase } from '../support/database/test-database.ts';
import { startProcess } from '../support/processes/app-process.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

interface Call {
  id: string;
  n: number;
  attempt: number;
  pid: number;
  response: ServerResponse;
}

/** The calls of runs, which wait for their responses. */
const calls: Call[] = [];
/** How many of the next calls are responded to at once. */
let quickCalls = 0;
const server = createServer(async (req, response) => {
  calls.push({ ...((await json(req)) as Omit<Call, 'response'>), response });
  if (quickCalls > 0) {
    quickCalls -= 1;
    response.end('quick');
  }
}).listen(0, '127.0.0.1');
await vi.waitUntil(() => server.listening);
const CALLS_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

const database = await createTestDatabase();
const env = {
  NODE_ENV: 'test',
  LOG_LEVEL: 'info',
  CALLS_URL,
  ...database.appVariables,
  REDIS_URL: database.redisUrl,
  REDIS_PREFIX: database.redisPrefix,
};
const app = createApp(env);
await app.migrate({ mode: 'sync' });
const sql = new Client({ connectionString: database.databaseUrl });
await sql.connect();
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await sql.end();
  await app.close();
  await database.drop();
});
beforeEach(async () => {
  calls.length = 0;
  quickCalls = 0;
  await sql.query('delete from background_jobs');
});

const until = <T>(look: () => T | Promise<T>) => vi.waitUntil(look, { timeout: 60_000, interval: 20 });
const start = (role: string) => startProcess('test/fixtures/background/process.ts', env, role);
const finished = (id: string) =>
  until(async () => {
    const job = await app.jobs.get(id);
    return job?.finishedAt != null ? job : undefined;
  });
const callsOf = (id: string) => calls.filter((call) => call.id === id);
/** Ends the leases of dead workers, for which the test does not wait. */
const expireLeases = () => sql.query(`update background_jobs set lease_until = now() where lease_until is not null`);

test('a job whose worker is killed during its run is run again, by another worker', async () => {
  const first = start('job-worker');
  const { id } = await app.jobs.enqueue(report, { n: 1 });
  await until(() => callsOf(id).length === 1);
  first.child.kill('SIGKILL');
  await first.ended;
  expect(await app.jobs.get(id)).toMatchObject({ status: 'running', attempts: 1 });
  start('relay');
  start('job-worker');
  await expireLeases();
  await until(() => callsOf(id).length === 2);
  callsOf(id)[1]!.response.end('second');
  expect(await finished(id)).toMatchObject({ status: 'succeeded', result: 'second', attempts: 2 });
  expect(callsOf(id)[1]!.pid).not.toBe(callsOf(id)[0]!.pid);
});

test('a job whose workers are killed again and again fails, because it may be the cause', async () => {
  const { id } = await app.jobs.enqueue(report, { n: 1 });
  await sql.query('update background_jobs set attempts = 3, claims = 3 where id = $1', [id]);
  start('relay');
  start('job-worker');
  expect(await finished(id)).toMatchObject({
    status: 'failed',
    error: 'PermanentFailure: Its workers stopped before the run was finished',
  });
  expect(callsOf(id)).toEqual([]);
});

test('a worker that must stop gives a long run back, and the attempt does not count', async () => {
  const first = start('job-worker');
  const { id } = await app.jobs.enqueue(report, { n: 1 });
  await until(() => callsOf(id).length === 1);
  first.child.kill('SIGTERM');
  expect(await first.ended).toBe(0);
  expect(await app.jobs.get(id)).toMatchObject({ status: 'waiting', attempts: 0 });
  start('job-worker');
  await until(() => callsOf(id).length === 2);
  expect(callsOf(id)[1]!.attempt).toBe(1);
  callsOf(id)[1]!.response.end('done');
  expect(await finished(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
});

test('jobs that wait when Redis loses all its data are run', async () => {
  const runAt = Date.now() + 1500;
  const now = await Promise.all(Array.from({ length: 20 }, (_, n) => app.jobs.enqueue(report, { n })));
  const later = await app.jobs.enqueue(report, { n: 20 }, { runAt });
  await deleteRedisKeys(database.redisUrl, database.redisPrefix);
  await sql.query(`update background_jobs set created_at = now() - interval '1 minute'`);
  start('relay');
  start('job-worker');
  const all = [...now, later].map(({ id }) => id);
  await until(() => {
    for (const { response } of calls) if (!response.writableEnded) response.end('done');
    return new Set(calls.map(({ id }) => id)).size === all.length;
  });
  for (const id of all) expect(await finished(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(calls).toHaveLength(all.length);
});

test('a tick whose relay was killed before it told the workers is run', async () => {
  await sql.query(
    `insert into background_jobs (id, name, input, schedule, scheduled_at, created_at)
     values ('${'a'.repeat(24)}', 'report', '{"n": 1}', 'nightly', now(), now() - interval '1 minute')`,
  );
  start('relay');
  start('job-worker');
  await until(() => calls.length === 1);
  calls[0]!.response.end('done');
  expect(await finished('a'.repeat(24))).toMatchObject({ status: 'succeeded', schedule: 'nightly' });
});

test('jobs can be enqueued while Redis is down, and run once it is back', async () => {
  const proxy = await startTcpProxy(new URL(database.redisUrl));
  onTestFinished(() => proxy.close());
  const other = createApp({ ...env, LOG_LEVEL: 'silent', REDIS_URL: proxy.url });
  proxy.shut();
  const { id } = await other.jobs.enqueue(report, { n: 1 });
  const inside = await other.transaction((tx) => tx.jobs.enqueue(report, { n: 2 }));
  expect(await other.jobs.get(id)).toMatchObject({ status: 'waiting' });
  await other.close();
  await sql.query(`update background_jobs set created_at = now() - interval '1 minute'`);
  start('relay');
  start('job-worker');
  await until(() => calls.length === 2);
  for (const { response } of calls) response.end('done');
  for (const one of [id, inside.id]) expect(await finished(one)).toMatchObject({ status: 'succeeded' });
});

/**
 * Lets a worker run quick jobs until it claims ahead, and then slow ones: five wait for responses, others wait in the worker. Returns the ids of
 * those that wait in the worker.
 */
async function fillLocalQueue(): Promise<string[]> {
  for (;;) {
    calls.length = 0;
    quickCalls = 40;
    await Promise.all(Array.from({ length: 80 }, (_, n) => app.jobs.enqueue(report, { n })));
    await until(() => calls.length >= 45);
    const { rows } = await sql.query<{ id: string }>(`select id from background_jobs where status = 'running'`);
    const waiting = rows.map(({ id }) => id).filter((id) => callsOf(id).length === 0);
    if (waiting.length > 0) return waiting;
    // A slow machine runs too few jobs at a time to claim ahead.
    quickCalls = Number.POSITIVE_INFINITY;
    for (const { response } of calls) if (!response.writableEnded) response.end('done');
    await until(async () => (await countJobs(`finished_at is null`)) === 0);
  }
}
const countJobs = async (where: string) =>
  (await sql.query<{ count: number }>(`select count(*)::int from background_jobs where ${where}`)).rows[0]!.count;
/** Lets all runs end. */
function respondToAll(): void {
  quickCalls = Number.POSITIVE_INFINITY;
  for (const { response } of calls) if (!response.writableEnded) response.end('done');
}

test('jobs that a killed worker had claimed ahead are run by another, and lose no more than one attempt', async () => {
  const first = start('job-worker');
  const waiting = await fillLocalQueue();
  first.child.kill('SIGKILL');
  await first.ended;
  respondToAll();
  start('relay');
  start('job-worker');
  await expireLeases();
  await until(async () => (await countJobs('finished_at is null')) === 0);
  expect(await countJobs(`status <> 'succeeded' or attempts > 2`)).toBe(0);
  for (const id of waiting) expect(callsOf(id)).toHaveLength(1);
});

test('a worker that must stop gives back the jobs that it had claimed ahead, in their order and with all attempts', async () => {
  const first = start('job-worker');
  const waiting = await fillLocalQueue();
  first.child.kill('SIGTERM');
  expect(await first.ended).toBe(0);
  expect(
    await countJobs(`status = 'running' or status = 'waiting' and (attempts > 0 or lease_until is not null)`),
  ).toBe(0);
  for (const id of waiting) expect(callsOf(id)).toEqual([]);
  const { rows } = await sql.query<{ id: string }>(
    `select id from background_jobs where status = 'waiting' order by run_at`,
  );
  const inOrder = rows.map(({ id }) => id);
  calls.length = 0;
  respondToAll();
  start('job-worker');
  await until(async () => (await countJobs('finished_at is null')) === 0);
  expect(await countJobs(`status <> 'succeeded' or attempts > 1`)).toBe(0);
  // The first jobs run first, although others were due later and nobody had claimed them.
  expect(new Set(calls.slice(0, 5).map(({ id }) => id))).toEqual(new Set(inOrder.slice(0, 5)));
});

test('a job that is cancelled after a worker has claimed it ahead never runs', async () => {
  start('job-worker');
  const waiting = await fillLocalQueue();
  const cancelled = waiting.slice(-3);
  for (const id of cancelled) await app.jobs.cancel(id);
  // Before the run of a job that has waited for less, the worker does not ask whether it was cancelled.
  await until(async () => (await countJobs(`started_at > now() - interval '200 milliseconds'`)) === 0);
  respondToAll();
  await until(async () => (await countJobs('finished_at is null')) === 0);
  for (const id of cancelled) {
    expect(await app.jobs.get(id)).toMatchObject({ status: 'cancelled' });
    expect(callsOf(id)).toEqual([]);
  }
});

test('two workers share slow jobs, also those that one of them had claimed ahead', async () => {
  const first = start('job-worker');
  const waiting = await fillLocalQueue();
  expect(waiting.length).toBeGreaterThan(0);
  const before = calls.length;
  const second = start('job-worker');
  // Each runs five at once.
  await until(() => calls.length === before + 5);
  const unanswered = calls.filter(({ response }) => !response.writableEnded);
  const countOf = (pid: number | undefined) => unanswered.filter((call) => call.pid === pid).length;
  expect([countOf(first.child.pid), countOf(second.child.pid)]).toEqual([5, 5]);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
  respondToAll();
  await until(async () => (await countJobs('finished_at is null')) === 0);
});

test('an entry of an earlier version runs its job, although the search for due jobs begins after it, and jobs that were stored with it', async () => {
  quickCalls = Number.POSITIVE_INFINITY;
  start('job-worker');
  await finished((await app.jobs.enqueue(report, { n: 1 })).id);
  const ids = ['b', 'c'].map((letter) => letter.repeat(24));
  await sql.query(
    `insert into background_jobs (id, name, input, run_at) select unnest($1::text[]), 'report', '{"n": 2}', now() - interval '1 hour'`,
    [ids],
  );
  const [id] = ids;
  const { queues } = findAssembly(app)!.platform;
  await queues.add('job.report', [{ name: 'run', data: { id: id! }, opts: { jobId: `job_${id}_0` } }]);
  for (const one of ids) expect(await finished(one)).toMatchObject({ status: 'succeeded', attempts: 1 });
});
