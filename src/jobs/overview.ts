import type { JobKind, JobOverview, ScheduleState } from '../declare/job-overview.ts';
import { JOB_STATUSES, type JobStatus } from '../declare/job-queue.ts';
import type { Database } from '../platform/data/postgres/database.ts';
import type { CompiledJob, CompiledJobs } from './declarations/declarations.ts';
import type { CompiledSchedule } from './schedules/declarations.ts';

/** The number of jobs at which counting stops, for each part of the count. */
const MAX_COUNTED = 10_000;

/** The parts of the count, by the condition of the index that each uses. */
const COUNTED: readonly (readonly JobStatus[])[] = [['waiting'], ['running'], ['failed'], ['succeeded', 'cancelled']];

const countedSql = (statuses: readonly JobStatus[]) =>
  `(select name, status from background_jobs where status in (${statuses.map((status) => `'${status}'`).join(', ')}) limit ${MAX_COUNTED})`;
// Uses the partial indexes of the statuses.
const COUNTS = `select name, status, count(*)::int from (${COUNTED.map(countedSql).join(' union all ')}) counted group by name, status order by name`;
const SCHEDULES = 'select name, definition, next_at, last_at from background_schedules where name = any($1::text[])';

type CountRow = readonly [name: string, status: JobStatus, count: number];
type ScheduleRow = [name: string, definition: string, nextAt: string, lastAt: string | null];

/** Returns the statuses of which counting stopped at its limit. */
function findCappedStatuses(rows: readonly CountRow[]): JobStatus[] {
  return COUNTED.filter((statuses) => {
    const counted = rows.filter(([, status]) => statuses.includes(status));
    return counted.reduce((sum, [, , count]) => sum + count, 0) >= MAX_COUNTED;
  }).flat();
}

function toKind(name: string, job: CompiledJob | undefined, rows: readonly CountRow[]): JobKind {
  const findCount = (status: JobStatus) => rows.find((row) => row[0] === name && row[1] === status)?.[2] ?? 0;
  return {
    name,
    description: job?.description ?? null,
    isDeclared: job !== undefined,
    hasInput: job?.input !== undefined,
    counts: Object.fromEntries(JOB_STATUSES.map((status) => [status, findCount(status)])) as JobKind['counts'],
  };
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
    const names = schedules.map(({ name }) => name);
    const [counts, stored] = await Promise.all([
      database.readSlowly<[...CountRow]>({ name: 'job_counts', text: COUNTS, values: [] }),
      database.readSlowly<ScheduleRow>({ name: 'job_schedule_states', text: SCHEDULES, values: [names] }),
    ]);
    const kinds = new Set([...jobs.keys(), ...counts.map(([name]) => name)]);
    const states = new Map(stored.map((row) => [row[0], row]));
    return {
      kinds: [...kinds].map((name) => toKind(name, jobs.get(name), counts)),
      cappedStatuses: findCappedStatuses(counts),
      schedules: schedules.map((schedule) => toScheduleState(schedule, states.get(schedule.name))),
    };
  };
}
