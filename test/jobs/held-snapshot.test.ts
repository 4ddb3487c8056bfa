import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { defineJob, defineUser } from '../../src/index.ts';
import { createJobStore } from '../../src/jobs/store.ts';
import { createJobSweeps } from '../../src/jobs/sweeps.ts';
import type { Database } from '../../src/platform/data/postgres/database.ts';
import { findAssembly } from '../../src/runtime/create-app.ts';
import { startTestApp } from '../support/app.ts';
import { observeDatabase } from '../support/database/held-snapshot.ts';

const tidy = defineJob('tidy', { run: () => undefined });
const { app, env } = await startTestApp({ resources: [defineUser()], jobs: [tidy] });
const { platform } = findAssembly(app)!;
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

interface Statement {
  name?: string;
  text: string;
  values: unknown[];
}
/** The last statements by name. */
const statements = new Map<string, Statement>();
const note = (run: (statement: Statement) => Promise<unknown>) => (statement: Statement) => {
  statements.set(statement.name ?? '', statement);
  return run(statement);
};
const { database } = platform;
const noting = {
  ...database,
  write: note((statement) => database.write(statement)),
  readSlowly: note((statement) => database.readSlowly(statement)),
} as unknown as Database;
const observed = observeDatabase(noting, sql);
observed.makeSearchesExpensive((text) => text.includes('k.start'));

/** The blocks that the last statement of a name reads now. Changes nothing. @param values replace the first ones of the statement */
async function countBlocks(name: string): Promise<number> {
  const { text, values } = statements.get(name)!;
  await sql.query('begin');
  // A small table would be read from its start.
  await sql.query('set local enable_seqscan = off');
  const { rows } = await sql.query(`explain (analyze, buffers, format json) ${text}`, values);
  await sql.query('rollback');
  const plan = rows[0]['QUERY PLAN'][0].Plan;
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

const STATEMENTS = ['job_claim', 'job_overdue'];

/** Stores jobs that have been due for an hour, and ends them as a worker does. Returns the blocks that each statement reads afterwards. */
async function endJobs(count: number): Promise<Record<string, number>> {
  await sql.query(
    `insert into background_jobs (id, name, run_at, created_at)
     select left(md5(random()::text), 24), 'tidy', now() - interval '1 hour' + n * interval '1 ms', now() - interval '1 day'
     from generate_series(1, $1::int) n`,
    [count],
  );
  const store = createJobStore(observed);
  const unused = { setState: () => undefined, registerRuns: () => undefined, countRun: () => undefined };
  const declared = { jobs: new Map([['tidy', {} as never]]), schedules: [] };
  const sweeps = createJobSweeps({ ...platform, database: observed }, declared, unused);
  const end = { status: 'succeeded', result: null, error: null, progress: null } as const;
  // The claim after the last one begins where that one has found nothing.
  for (let empty = 0; empty < 2; ) {
    const { leases } = await store.claim({ name: 'tidy', limit: 50, ids: [], startsAtOnce: true, maxAttempts: 1 });
    await Promise.all(leases.map((lease) => store.finish(lease, end)));
    if (leases.length === 0) empty += 1;
  }
  // The first sweep searches everything.
  for (const { name, run } of [...sweeps, ...sweeps]) if (name !== 'job retention') await run();
  const blocks: Record<string, number> = {};
  for (const name of STATEMENTS) blocks[name] = await countBlocks(name);
  return blocks;
}

test('claims and sweeps do not visit jobs that ended while another session holds an old snapshot', async () => {
  await endJobs(50);
  await sql.query('vacuum analyze background_jobs');
  const before = await endJobs(1);
  const holder = new Client({ connectionString: env.DATABASE_URL! });
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query('begin isolation level repeatable read');
  await holder.query('select 1 from background_jobs limit 1');
  const held = await endJobs(2000);
  for (const name of STATEMENTS) expect([name, held[name]! <= before[name]! + 10]).toEqual([name, true]);
  // They would visit the ended jobs if they searched from the start.
  for (const [name, position, start] of [
    ['job_claim', 2, '-infinity'],
    ['job_overdue', 1, ['-infinity']],
  ] as const) {
    const { text, values } = statements.get(name)!;
    statements.set(name, { text, values: values.with(position, start) });
    const blocks = await countBlocks(name);
    expect([name, blocks > 3 * held[name]!]).toEqual([name, true]);
  }
});

test('the jobs of an undeclared name are counted beside those of declared ones', async () => {
  const counted: unknown[] = [];
  const metrics = {
    setState: (_names: unknown, rows: unknown) => counted.push(rows),
    registerRuns: () => undefined,
    countRun: () => undefined,
  };
  await sql.query('delete from background_jobs');
  for (const name of ['aaa', 'mmm', 'tidy', 'zzz'])
    await sql.query(
      `insert into background_jobs (id, name, run_at) select $1 || n, $1, now() + interval '1 hour' from generate_series(1, 2) n`,
      [name],
    );
  for (const names of [['tidy'], ['aaa', 'tidy'], []]) {
    const jobs = new Map(names.map((name) => [name, {} as never]));
    const sweeps = createJobSweeps(platform, { jobs, schedules: [] }, metrics);
    for (const { name, run } of sweeps) if (name === 'job state') await run();
    const rows = counted.at(-1) as [string, string, number][];
    expect(rows.map((row) => row.slice(0, 3)).sort()).toEqual(
      ['aaa', 'mmm', 'tidy', 'zzz'].map((name) => [name, 'waiting', 2]),
    );
  }
});
