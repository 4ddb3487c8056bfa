import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Jobs } from '../declare/job-queue.ts';
import {
  JOB_STATUSES,
  type JobKind,
  type JobOverview,
  type JobRecord,
  type JobStatus,
  type ScheduleState,
} from '../declare/job-record.ts';
import type { ApiError } from '../platform/helpers/errors.ts';
import type { AppOpener } from './project/project.ts';
import { alignColumns, formatCount, stripControlCharacters } from './terminal/terminal.ts';
import { createCountParser } from './terminal/usage-errors.ts';

interface ListOptions {
  job?: string;
  status?: JobStatus;
  limit: number;
  after?: string;
  json?: boolean;
}

interface RunOptions {
  /** JSON, parsed. */
  input?: { value: unknown };
  runAt?: string;
  uniqueKey?: string;
  json?: boolean;
}

interface JsonOption {
  json?: boolean;
}

const MAX_LIMIT = 100;
const UNDEFINED_TABLE = '42P01';

function parseId(text: string): string {
  if (/^[0-9a-f]{24}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be an id of 24 hex digits.');
}

function parseInput(text: string): { value: unknown } {
  try {
    return { value: JSON.parse(text) };
  } catch {
    throw new InvalidArgumentError(`It must be JSON, such as '{"days":30}'.`);
  }
}

function scheduleLines(schedules: readonly ScheduleState[]): string[] {
  if (schedules.length === 0) return [];
  const rows = schedules.map(({ name, job, cron, timeZone, nextAt, lastAt }) =>
    [name, job, cron, timeZone, nextAt ?? '-', lastAt ?? '-'].map(stripControlCharacters),
  );
  return ['', ...alignColumns([['schedule', 'job', 'cron', 'time zone', 'next run', 'last run'], ...rows])];
}

/** Formats the numbers of jobs by kind and status, and the schedules. */
function overviewLines({ kinds, cappedStatuses, schedules }: JobOverview): string[] {
  if (kinds.length === 0) return ['The app declares no jobs, and none are stored. See docs/build/jobs.md.'];
  const cells = ({ counts, scheduled }: JobKind) =>
    JOB_STATUSES.map((status) => {
      const count = `${formatCount(counts[status])}${cappedStatuses.includes(status) ? '+' : ''}`;
      return status === 'waiting' && scheduled > 0 ? `${count} (${formatCount(scheduled)} scheduled)` : count;
    });
  const undeclared = kinds.filter(({ isDeclared }) => !isDeclared).map(({ name }) => stripControlCharacters(name));
  return [
    ...alignColumns([
      ['job', ...JOB_STATUSES],
      ...kinds.map((kind) => [stripControlCharacters(kind.name), ...cells(kind)]),
    ]),
    ...(undeclared.length > 0 ? ['', `Not declared, so their jobs wait: ${undeclared.join(', ')}`] : []),
    ...scheduleLines(schedules),
  ];
}

/** Formats a list of jobs, newest first. */
function listLines(jobs: readonly JobRecord[], next: string | null): string[] {
  if (jobs.length === 0) return ['No jobs.'];
  const rows = jobs.map(({ id, job, status, attempts, runAt, error }) => [
    id,
    stripControlCharacters(job),
    status,
    String(attempts),
    runAt,
    stripControlCharacters(error ?? '').slice(0, 80),
  ]);
  const more = next === null ? [] : ['', `More: --after ${next}`];
  return [...alignColumns([['id', 'job', 'status', 'attempts', 'run at', 'error'], ...rows]), ...more];
}

/** Formats everything about a job, one member per line. */
function recordLines(job: JobRecord): string[] {
  const rows = Object.entries(job)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => [name, stripControlCharacters(typeof value === 'string' ? value : JSON.stringify(value))]);
  return alignColumns(rows);
}

function print(json: boolean | undefined, value: unknown, lines: readonly string[]): void {
  console.log(json ? JSON.stringify(value) : lines.join('\n'));
}

/** Adds the messages per input to the message of an error. */
function describeRefusal(error: unknown): unknown {
  const { name, details } = error as Partial<ApiError>;
  if (name !== 'ApiError' || details === undefined) return error;
  const lines = Object.entries(details).map(([field, message]) => `  ${field}: ${message}`);
  return new Error(`The job was not enqueued:\n${lines.join('\n')}`);
}

/** @throws Error for a name that neither a declaration nor a stored job has */
async function assertKnownJob(jobs: Jobs, name: string): Promise<void> {
  const names = (await jobs.overview()).kinds.map((kind) => kind.name);
  if (names.includes(name)) return;
  const { suggestKnownNames } = await import('../platform/helpers/did-you-mean.ts');
  const known = names.length === 0 ? '. The app declares none' : suggestKnownNames(name, 'jobs', names);
  throw new Error(`There is no job "${name}"${known}`);
}

async function list(jobs: Jobs, { json, job, status, limit, after }: ListOptions): Promise<void> {
  const page = await jobs.list({ job, status, limit, after });
  if (page.data.length === 0 && job !== undefined) await assertKnownJob(jobs, job);
  print(json, page, listLines(page.data, page.next));
}

async function show(jobs: Jobs, id: string, { json }: JsonOption): Promise<void> {
  const job = await jobs.get(id);
  if (job === undefined) throw new Error('There is no job with this id.');
  print(json, job, recordLines(job));
}

async function enqueue(jobs: Jobs, name: string, { input, json, runAt, uniqueKey }: RunOptions): Promise<void> {
  try {
    const enqueued = await jobs.enqueue(name, input?.value, { runAt, uniqueKey });
    const { id, created } = enqueued;
    print(json, enqueued, [
      created ? `Job ${id} is enqueued.` : `Job ${id} has the same key, and is waiting or running.`,
    ]);
  } catch (error) {
    throw describeRefusal(error);
  }
}

async function status(jobs: Jobs, { json }: JsonOption): Promise<void> {
  const overview = await jobs.overview();
  print(json, overview, overviewLines(overview));
}

/** Runs `work` with the jobs of the app. */
type WithJobs = (command: Command, work: (jobs: Jobs) => Promise<void>) => Promise<void>;

const withJobs =
  (openApp: AppOpener): WithJobs =>
  async (command, work) => {
    const app = await openApp({
      command: 'jobs',
      appFile: command.optsWithGlobals().app,
      environment: { NODE_ENV: 'test', LOG_LEVEL: 'error' },
      orDevelopment: true,
    });
    await app.accounts?.ready();
    try {
      await work(app.jobs);
    } catch (error) {
      if ((error as { code?: string }).code !== UNDEFINED_TABLE) throw error;
      throw new Error('The database has no table of jobs. Apply the migrations: npx belfry migrate');
    }
  };

/** Adds the commands that only read jobs. */
function addReadingCommands(group: Command, run: WithJobs): void {
  group
    .command('status', { isDefault: true })
    .description('Count the jobs by kind and status; also without a command')
    .option('--json', 'Print JSON')
    .action((options: JsonOption, command: Command) => run(command, (jobs) => status(jobs, options)));
  // Otherwise an unknown command would be an argument of the default command.
  group.hook('preSubcommand', (_group, chosen) => {
    const [given] = group.args;
    if (given !== undefined && !given.startsWith('-') && given !== chosen.name())
      (group as Command & { unknownCommand(): never }).unknownCommand();
  });
  group
    .command('list')
    .description('List jobs, newest first')
    .option('--job <name>', 'Only jobs with this name')
    .addOption(new Option('--status <status>', 'Only jobs with this status').choices(JOB_STATUSES))
    .option('--limit <n>', 'The number of jobs', createCountParser(MAX_LIMIT), 20)
    .option('--after <id>', 'Continue a list after this id', parseId)
    .option('--json', 'Print JSON')
    .action((options: ListOptions, command: Command) => run(command, (jobs) => list(jobs, options)));
  group
    .command('show')
    .description('Show everything about a job')
    .argument('<id>', 'The id of the job', parseId)
    .option('--json', 'Print JSON')
    .action((id: string, options: JsonOption, command: Command) => run(command, (jobs) => show(jobs, id, options)));
}

/** Adds the commands that change jobs. */
function addChangingCommands(group: Command, run: WithJobs): void {
  for (const [verb, description] of [
    ['retry', 'Run a failed or cancelled job again'],
    ['cancel', 'Cancel a job that is waiting or running'],
  ] as const) {
    group
      .command(verb)
      .description(description)
      .argument('<id>', 'The id of the job', parseId)
      .option('--json', 'Print JSON')
      .action((id: string, { json }: JsonOption, command: Command) =>
        run(command, async (jobs) => {
          const job = await jobs[verb](id);
          print(json, job, [`Job ${id} is ${job.status}.`]);
        }),
      );
  }
  group
    .command('run')
    .description('Enqueue a job')
    .argument('<name>', 'The name of the job')
    .option('--input <json>', 'The input of the job', parseInput)
    .option('--run-at <time>', 'The earliest time of the run: 2030-01-31T12:00:00Z')
    .option('--unique-key <key>', 'Do not enqueue the job while another one with this key is waiting or running')
    .option('--json', 'Print JSON')
    .action((name: string, options: RunOptions, command: Command) =>
      run(command, (jobs) => enqueue(jobs, name, options)),
    );
}

/** Adds `belfry jobs`, which counts, lists, enqueues, retries and cancels background jobs. */
export function addJobsCommand(program: Command, openApp: AppOpener): void {
  const group = program
    .command('jobs')
    .description('Count, list, run, retry and cancel background jobs')
    .addHelpText('after', '\nEvery command also takes --json, which prints JSON. Without a command: status');
  const run = withJobs(openApp);
  addReadingCommands(group, run);
  addChangingCommands(group, run);
}
