import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { defineJob } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
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

test('every command of jobs takes --app, which is an option of the command line and not of the job', async () => {
  const { id } = await parse('run tidy --app other.ts --input {"days":1} --run-at 2030-01-01 --json');
  expect(
    (await parse('list --app other.ts --status waiting --json')).data.map((job: { id: string }) => job.id),
  ).toContain(id);
  expect((await parse(`show ${id} --app other.ts --json`)).id).toBe(id);
  expect((await jobs(`cancel ${id} --app other.ts`)).output).toBe(`Job ${id} is cancelled.`);
  expect(await jobs(`retry ${id} --app other.ts`)).toMatchObject({ code: 0, output: `Job ${id} is waiting.` });
  expect(await jobs(`cancel ${id} --app other.ts`)).toMatchObject({ code: 0 });
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
