import { Client } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { defineJob } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { createAppProject } from '../support/processes/app-project.ts';
import { startCommand } from '../support/processes/command.ts';
import { runCommand } from '../support/processes/in-process.ts';
import { getUsageError } from '../support/processes/usage-error.ts';

let fails = true;
const tidy = defineJob('tidy', {
  input: z.strictObject({ days: z.number() }),
  retry: { attempts: 1 },
  run({ input }) {
    if (fails) throw new Error('broken \u001b[31m');
    return input;
  },
});
const { app } = await startTestApp({ resources: [], jobs: [tidy] }, { roles: 'all' });

/** Runs a command in this process, on the running app. */
const jobs = (args: string) => runCommand(`jobs ${args}`, app);
const parse = async (args: string) => JSON.parse((await jobs(args)).output);

test.each([
  ['stop', 'Unknown command stop. Did you mean show?'],
  ['list --limit 0', '--limit 0 is invalid. It must be a whole number from 1 to 100.'],
  [
    'list --status done',
    '--status done is invalid. Allowed choices are waiting, running, succeeded, failed, cancelled.',
  ],
  ['list --after x', '--after x is invalid. It must be an id of 24 hex digits.'],
  ['show', 'The argument <id> is missing.'],
  ['run', 'The argument <name> is missing.'],
  ['run tidy --input {', `--input { is invalid. It must be JSON, such as '{"days":30}'.`],
])('belfry jobs %s is refused: %s', async (line, error) => {
  expect(await getUsageError(`jobs ${line}`)).toBe(error);
});

test.each(['jobs', 'jobs status'])('belfry %s counts the jobs of each kind by status', async (command) => {
  const letter = defineJob('letter', { run: () => undefined });
  const [former, unused] = ['former', 'unused'].map((name) => defineJob(name, { run: () => undefined }));
  const { app, env } = await startTestApp({ resources: [], jobs: [tidy, letter, former!, unused!] });
  const sql = new Client({ connectionString: env.DATABASE_URL! });
  await sql.connect();
  onTestFinished(() => sql.end());
  const count = (args = '') => runCommand(`${command} ${args}`, app);
  const insert = (name: string, status: string, jobs: number, runAt = 'now()') =>
    sql.query(
      `insert into background_jobs (id, name, status, run_at, finished_at) select $1 || '-' || $2 || '-' || ${runAt} || i, $1, $2, ${runAt},
         case when $2 not in ('waiting', 'running') then now() end from generate_series(1, $3) i`,
      [name, status, jobs],
    );
  const rows = [
    ['tidy', { waiting: 5, running: 3, succeeded: 12, failed: 1, cancelled: 2 }, 4],
    ['letter', { waiting: 1, running: 0, succeeded: 1200, failed: 4, cancelled: 0 }, 0],
  ] as const;
  for (const [name, counts, scheduled] of rows) {
    for (const [status, jobs] of Object.entries(counts))
      await insert(name, status, status === 'waiting' ? jobs - scheduled : jobs);
    await insert(name, 'waiting', scheduled, "now() + interval '1 hour'");
  }
  const { kinds, cappedStatuses } = JSON.parse((await count('--json')).output);
  const none = { waiting: 0, running: 0, succeeded: 0, failed: 0, cancelled: 0 };
  const [described, plain] = [
    { description: null, isDeclared: true, hasInput: true },
    { description: null, isDeclared: true, hasInput: false },
  ];
  expect(kinds).toEqual([
    { ...described, name: 'tidy', counts: rows[0][1], scheduled: 4 },
    { ...plain, name: 'letter', counts: rows[1][1], scheduled: 0 },
    { ...plain, name: 'former', counts: none, scheduled: 0 },
    { ...plain, name: 'unused', counts: none, scheduled: 0 },
  ]);
  expect(cappedStatuses).toEqual([]);
  expect((await count()).output.split('\n')).toEqual([
    'job      waiting           running   succeeded   failed   cancelled',
    'tidy     5 (4 scheduled)   3         12          1        2',
    'letter   1                 0         1,200       4        0',
    'former   0                 0         0           0        0',
    'unused   0                 0         0           0        0',
  ]);

  // A long backlog of one kind, due later, hides neither its own due jobs nor those of other kinds.
  await insert('former', 'waiting', 10_005, "now() + interval '2 hours'");
  await insert('former', 'waiting', 2);
  await insert('dropped', 'failed', 1);
  expect((await count()).output.split('\n')).toEqual([
    'job       waiting                     running   succeeded   failed   cancelled',
    'tidy      5+ (4 scheduled)            3         12          1        2',
    'letter    1+                          0         1,200       4        0',
    'former    10,000+ (9,998 scheduled)   0         0           0        0',
    'unused    0+                          0         0           0        0',
    'dropped   0+                          0         0           1        0',
    '',
    'Not declared, so their jobs wait: dropped',
  ]);
});

test('a job is enqueued, listed, shown, retried and cancelled', async () => {
  expect((await jobs('list')).output).toBe('No jobs.');
  const { id, created } = await parse('run tidy --input {"days":30} --json');
  expect(created).toBe(true);
  await vi.waitUntil(async () => (await app.jobs.get(id))?.status === 'failed');
  const listed = await jobs('list --status failed');
  expect(listed.output).toContain(id);
  expect(listed.output).not.toContain('\u001b');
  expect((await parse(`show ${id} --json`)).input).toEqual({ days: 30 });
  expect((await jobs(`show ${id}`)).output).toMatch(/status +failed/);
  fails = false;
  expect(await jobs(`retry ${id}`)).toMatchObject({ code: 0, output: `Job ${id} is waiting.` });
  await vi.waitUntil(async () => (await app.jobs.get(id))?.status === 'succeeded');
  expect(await jobs(`retry ${id}`)).toMatchObject({
    code: 1,
    errorOutput: expect.stringContaining('cannot be retried'),
  });
  const later = await parse('run tidy --input {"days":1} --run-at 2030-01-01 --unique-key one --json');
  expect(later.created).toBe(true);
  expect((await jobs('run tidy --input {"days":1} --unique-key one')).output).toContain('has the same key');
  expect((await jobs(`cancel ${later.id}`)).output).toBe(`Job ${later.id} is cancelled.`);
});

test('a job that the command enqueues starts without a sweep, although the process of the command ends at once', {
  timeout: 240_000,
}, async () => {
  const hello = defineJob('hello', { run: () => undefined });
  const options = { resources: [], jobs: [hello], settings: { relay: { sweepMs: 3_600_000 } } };
  const { app, env } = await startTestApp(options, { roles: 'all' });
  const project = createAppProject();
  onTestFinished(project.remove);
  project.writeApp(`import { createApp, defineJob } from 'belfry';
    const hello = defineJob('hello', { run: () => undefined });
    export const app = (environment) => createApp({ resources: [], jobs: [hello] }, environment);`);
  // The command needs no keys: nothing of a job is encrypted.
  const { output } = await startCommand(project.folder, 'jobs run hello --json', env).ended;
  const { id } = JSON.parse(output);
  await vi.waitUntil(async () => (await app.jobs.get(id))?.status === 'succeeded', { timeout: 30_000, interval: 20 });
});

test('every command of jobs takes --app, which is an option of the command line and not of the job', async () => {
  // No worker runs here: it would take the job between two commands.
  const { app } = await startTestApp({ resources: [], jobs: [tidy] });
  const jobs = (args: string) => runCommand(`jobs ${args}`, app);
  const parse = async (args: string) => JSON.parse((await jobs(args)).output);
  const { id } = await parse('run tidy --app other.ts --input {"days":1} --run-at 2030-01-01 --json');
  expect(
    (await parse('list --app other.ts --status waiting --json')).data.map((job: { id: string }) => job.id),
  ).toContain(id);
  expect((await parse(`show ${id} --app other.ts --json`)).id).toBe(id);
  expect((await jobs(`cancel ${id} --app other.ts`)).output).toBe(`Job ${id} is cancelled.`);
  expect(await jobs(`retry ${id} --app other.ts`)).toMatchObject({ code: 0, output: `Job ${id} is waiting.` });
  expect(await jobs(`cancel ${id} --app other.ts`)).toMatchObject({ code: 0 });
});

test('the schedules are listed with their next and last run', async () => {
  const { app } = await startTestApp({
    resources: [],
    jobs: [tidy],
    schedules: [{ cron: '0 2 * * *', timeZone: 'Europe/Berlin', job: tidy, input: { days: 1 } }],
  });
  const lines = (await runCommand('jobs', app)).output.split('\n');
  expect(lines.slice(2)).toEqual([
    '',
    'schedule   job    cron        time zone       next run                   last run',
    expect.stringMatching(/^tidy {7}tidy {3}0 2 \* \* \* {3}Europe\/Berlin {3}\d{4}-\d\d-\d\dT0[01]:00:00\.000Z {3}-$/),
  ]);
});

test('the help of the group says that its commands print JSON', async () => {
  expect((await runCommand('jobs --help')).output).toContain('Every command also takes --json, which prints JSON.');
});

test('a list of an unknown job suggests the name; one of a known job without entries is empty', async () => {
  expect(await jobs('list --job tidi')).toMatchObject({
    code: 1,
    errorOutput: 'There is no job "tidi". Did you mean "tidy"?',
  });
  expect(await jobs('list --job other')).toMatchObject({ errorOutput: 'There is no job "other"; jobs: tidy' });
  const { app } = await startTestApp({ resources: [], jobs: [tidy] });
  expect(await runCommand('jobs list --job tidy', app)).toMatchObject({ code: 0, output: 'No jobs.' });
});

test('an unknown job, invalid input and an unknown id are errors with code 1', async () => {
  expect(await jobs('run tidi')).toMatchObject({
    code: 1,
    errorOutput: expect.stringContaining('Did you mean "tidy"?'),
  });
  expect(await jobs('run tidy --input {"days":"x"}')).toMatchObject({
    code: 1,
    errorOutput: expect.stringMatching(/The job was not enqueued:\n {2}input\.days: /),
  });
  expect(await jobs(`show ${'0'.repeat(24)}`)).toMatchObject({ code: 1, errorOutput: 'There is no job with this id.' });
});
