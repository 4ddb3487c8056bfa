import {
  JOB_STATUSES,
  type JobKind,
  type JobOverview,
  type JobStatus,
  type ScheduleState,
} from '../declare/job-record.ts';
import type { Database } from '../platform/data/postgres/database.ts';
import { type Backlog, createBacklogReader } from '../platform/work/leased-work/backlog.ts';
import type { CompiledJob, CompiledJobs } from './declarations/declarations.ts';
import { isJobQueue } from './queue/queue.ts';
import type { CompiledSchedule } from './schedules/declarations.ts';

/** The number of jobs at which counting stops: of waiting jobs for each kind, of the others for each part of the count. */
const MAX_COUNTED = 10_000;

/** The parts of the count of jobs that do not wait, by the condition of the index that each uses. */
const COUNTED: readonly (readonly JobStatus[])[] = [['running'], ['failed'], ['succeeded', 'cancelled']];

const countedSql = (statuses: readonly JobStatus[]) =>
  `(select name, status, false from background_jobs where status in (${statuses.map((status) => `'${status}'`).join(', ')}) limit ${MAX_COUNTED})`;
// Uses the partial indexes of the statuses. The kinds with waiting jobs are found one after the other, so that a long backlog of one does not hide
// the others. Of each kind, jobs that are due are counted first.
const COUNTS = `
  with recursive kinds(kind) as (
    select min(name) from background_jobs where status = 'waiting'
    union all
    select (select min(name) from background_jobs where status = 'waiting' and name > kind) from kinds where kind is not null
  )
  select name, status, is_later, count(*)::int from (
    select waiting.* from kinds cross join lateral (
      select name, status, run_at > now() as is_later from background_jobs
      where status = 'waiting' and name = kind order by run_at limit ${MAX_COUNTED}) waiting
    union all ${COUNTED.map(countedSql).join(' union all ')}
  ) counted group by name, status, is_later order by name`;
const SCHEDULES = 'select name, definition, next_at, last_at from background_schedules where name = any($1::text[])';

type CountRow = readonly [name: string, status: JobStatus, isLater: boolean, count: number];
type ScheduleRow = [name: string, definition: string, nextAt: string, lastAt: string | null];

const sumCounts = (rows: readonly CountRow[]) => rows.reduce((sum, [, , , count]) => sum + count, 0);

function toKind(name: string, job: CompiledJob | undefined, own: readonly CountRow[]): JobKind {
  const countStatus = (status: JobStatus) => sumCounts(own.filter((row) => row[1] === status));
  return {
    name,
    description: job?.description ?? null,
    isDeclared: job !== undefined,
    hasInput: job?.input !== undefined,
    counts: Object.fromEntries(JOB_STATUSES.map((status) => [status, countStatus(status)])) as JobKind['counts'],
    scheduled: sumCounts(own.filter(([, , isLater]) => isLater)),
  };
}

/** Returns the statuses of which counting stopped at its limit. */
function findCappedStatuses(kinds: readonly JobKind[], rows: readonly CountRow[]): JobStatus[] {
  const capped = COUNTED.filter(
    (statuses) => sumCounts(rows.filter(([, status]) => statuses.includes(status))) >= MAX_COUNTED,
  ).flat();
  return kinds.some(({ counts }) => counts.waiting >= MAX_COUNTED) ? ['waiting', ...capped] : capped;
}

function toScheduleState(schedule: CompiledSchedule, row: ScheduleRow | undefined): ScheduleState {
  const { name, job, cron, timeZone, ticks, definition } = schedule;
  const [, storedDefinition, storedNextAt, lastAt = null] = row ?? [];
  const next = ticks.next(Date.now());
  const computedNextAt = next === undefined ? null : new Date(next).toISOString();
  // A relay has not seen a new or changed schedule yet. A schedule without further ticks is stored with a far future.
  const isStored = storedDefinition === definition && computedNextAt !== null;
  return { name, job: job.name, cron, timeZone, nextAt: isStored ? storedNextAt! : computedNextAt, lastAt };
}

/** Creates the function that reads the overview of an app's jobs. Its counts and lists are bounded. */
export function createJobOverviewReader(
  database: Database,
  { jobs, schedules }: { jobs: CompiledJobs; schedules: readonly CompiledSchedule[] },
): () => Promise<JobOverview> {
  return async () => {
    const scheduleNames = schedules.map(({ name }) => name);
    const [counts, stored] = await Promise.all([
      database.readSlowly<[...CountRow]>({ name: 'job_counts', text: COUNTS, values: [] }),
      database.readSlowly<ScheduleRow>({ name: 'job_schedule_states', text: SCHEDULES, values: [scheduleNames] }),
    ]);
    const countsByName = Map.groupBy(counts, ([name]) => name);
    const names = new Set([...jobs.keys(), ...countsByName.keys()]);
    const kinds = [...names].map((name) => toKind(name, jobs.get(name), countsByName.get(name) ?? []));
    const states = new Map(stored.map((row) => [row[0], row]));
    return {
      kinds,
      cappedStatuses: findCappedStatuses(kinds, counts),
      schedules: schedules.map((schedule) => toScheduleState(schedule, states.get(schedule.name))),
    };
  };
}

// For each kind, the due jobs are the first in background_jobs_waiting_index.
const DUE_JOBS = `
  select waiting.run_at from unnest($1::text[]) as declared(name) cross join lateral (
    select run_at from background_jobs where status = 'waiting' and name = declared.name and run_at <= now()
    order by run_at limit ${MAX_COUNTED}) waiting`;

/** The declared jobs that wait for a worker. */
export const createJobBacklog = (database: Database, names: readonly string[]): Backlog<'job-worker'> => ({
  role: 'job-worker',
  names: ['background job', 'background jobs'],
  ownsQueue: isJobQueue,
  read: createBacklogReader(database, DUE_JOBS, [names]),
});
