import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createApp, defineJob, defineResource, defineUser, f, privacy } from '../../src/index.ts';
import { findAssembly } from '../../src/runtime/create-app.ts';
import { startTestApp } from '../support/app.ts';

const report = defineJob('report', {
  input: z.strictObject({ text: z.string() }),
  retry: { attempts: 1 },
  run({ input }) {
    if (input.text === 'fails') throw new Error('broken');
    return input.text;
  },
});
const former = defineJob('former', { run: () => 'ran' });
const note = defineResource('note', {
  fields: { title: f.string() },
  routes: (route) => [
    route.post(
      '/report',
      { input: z.strictObject({ text: z.string(), runAt: z.string().optional() }) },
      ({ jobs, input }) => jobs.enqueue(report, { text: input.text }, { runAt: input.runAt }),
    ),
  ],
});
const settings = { relay: { sweepMs: 100 } };
const { app, env, person } = await startTestApp(
  { resources: [defineUser(), note], jobs: [report], extensions: [privacy()], settings },
  { roles: 'all', env: () => ({ METRICS_PORT: '0' }) },
);
const parts = findAssembly(app)!;
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

const until = <T>(look: () => T | Promise<T>) => vi.waitUntil(look, { timeout: 30_000, interval: 20 });
const finished = (id: string) => until(async () => (await app.jobs.get(id))?.finishedAt != null);
const runSweep = (name: string) => parts.parts.sweeps!.find((sweep) => sweep.name === name)!.run();
const metricsText = () => parts.platform.metrics.registry.metrics();

test('a job without a declaration waits, is counted and named in a warning, and runs once it is declared again', async () => {
  const withFormer = createApp({ resources: [defineUser(), note], jobs: [report, former], settings }, env);
  const { id } = await withFormer.jobs.enqueue(former);
  const warn = vi.spyOn(parts.platform.log, 'warn');
  await runSweep('job state');
  await runSweep('job state');
  expect(warn.mock.calls.filter(([line]) => (line as { name?: string }).name === 'former')).toEqual([
    [{ name: 'former', jobs: 1 }, expect.stringContaining('add "former" to createApp({ jobs })')],
  ]);
  expect(await metricsText()).toContain('belfry_background_jobs_undeclared 1');
  expect(await app.jobs.get(id)).toMatchObject({ status: 'waiting', attempts: 0 });
  await withFormer.start({ roles: ['relay', 'job-worker'] });
  await finished(id);
  await withFormer.close();
  expect(await app.jobs.get(id)).toMatchObject({ status: 'succeeded', result: 'ran' });
  await runSweep('job state');
  expect(await metricsText()).toContain('belfry_background_jobs_undeclared 0');
});

test('the metrics count runs by outcome, and open jobs', async () => {
  await finished((await app.jobs.enqueue(report, { text: 'fails' })).id);
  const { id } = await app.jobs.enqueue(report, { text: 'later' }, { runAt: Date.now() + 3_600_000 });
  await runSweep('job state');
  const text = await metricsText();
  expect(text).toMatch(/belfry_background_job_runs_total\{job="report",outcome="failed"\} [1-9]/);
  expect(text).toContain('belfry_background_job_runs_total{job="report",outcome="lost"} 0');
  expect(text).toMatch(/belfry_background_job_seconds_count\{job="report"\} [1-9]/);
  expect(text).toContain('belfry_background_jobs{job="report",status="waiting"} 1');
  expect(text).toContain('belfry_background_jobs_oldest_seconds{job="report"} 0');
  await app.jobs.cancel(id);
});

test('finished jobs are removed after 14 days, failed ones after 90, and open ones never', async () => {
  const age = (status: string, days: number) =>
    sql.query(
      `insert into background_jobs (id, name, status, finished_at, created_at)
       values ($1, 'report', $2, case when $2 <> 'waiting' then now() - $3 * interval '1 day' end, now() - interval '200 days')`,
      [`${status}-${days}`, status, days],
    );
  for (const [status, days] of [
    ...[
      ['succeeded', 13],
      ['succeeded', 15],
      ['cancelled', 15],
      ['failed', 15],
      ['failed', 89],
      ['failed', 91],
    ],
  ] as [string, number][])
    await age(status, days);
  await runSweep('job retention');
  const { rows } = await sql.query(`select id from background_jobs where id like '%-%' order by id`);
  expect(rows.map(({ id }) => id)).toEqual(['failed-15', 'failed-89', 'succeeded-13']);
  await sql.query(`delete from background_jobs where id like '%-%'`);
});

test('an export contains the jobs of a user, and an erasure removes the finished ones and frees the others', async () => {
  const ada = await person('Ada');
  const enqueue = async (body: object) => (await ada.call('POST', '/api/notes/report', body)).body.data.id as string;
  const done = await enqueue({ text: 'private' });
  await finished(done);
  const open = await enqueue({ text: 'open', runAt: new Date(Date.now() + 3_600_000).toISOString() });
  const data = parts.parts.userData!.find(({ name }) => name === 'jobs')!;
  const rows = await Array.fromAsync(data.rows(ada.id));
  expect(rows).toMatchObject([
    { id: done, job: 'report', status: 'succeeded', input: { text: 'private' }, result: 'private' },
    { id: open, job: 'report', status: 'waiting', input: { text: 'open' } },
  ]);
  expect(await data.erase(ada.id)).toBe(2);
  expect(await data.erase(ada.id)).toBe(0);
  expect(await app.jobs.get(done)).toBeUndefined();
  expect(await app.jobs.get(open)).toMatchObject({ status: 'waiting', user: null, requestId: null });
});

test('a run is one log line with its ids, attempt, outcome and duration, and the stack of an error is only there', async () => {
  const error = vi.spyOn(parts.platform.log, 'error');
  const { id } = await app.jobs.enqueue(report, { text: 'fails' });
  await finished(id);
  const line = await until(() => error.mock.calls.find(([fields]) => (fields as { job?: string }).job === id));
  expect(line).toEqual([
    { job: id, name: 'report', attempt: 1, outcome: 'failed', durationMs: expect.any(Number), err: expect.any(Error) },
    'job',
  ]);
  expect((await app.jobs.get(id))?.error).toBe('Error: broken');
});

test('an app without jobs starts no worker for them, and its relay adds no sweep that runs often', async () => {
  const without = createApp({ resources: [defineUser()] }, env);
  const { workers, sweeps = [] } = findAssembly(without)!.parts;
  expect(workers).not.toHaveProperty('job-worker');
  const own = sweeps.filter(({ name }) => name.startsWith('job'));
  expect(own.map(({ name, everyMs }) => [name, everyMs])).toEqual([
    ['job retention', 600_000],
    ['job state', 600_000],
  ]);
  await without.close();
});
