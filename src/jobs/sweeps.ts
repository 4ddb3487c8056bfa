import { quoteLiteral } from '../platform/data/postgres/values.ts';
import type { Platform } from '../platform/platform.ts';
import { createOverdueSearch, type OverdueSearch } from '../platform/work/leased-work/overdue-search.ts';
import { createReclaimSweep, createRetentionSweep } from '../platform/work/leased-work/sweeps.ts';
import type { Sweep } from '../platform/work/outbox/relay.ts';
import type { CompiledJobs } from './declarations/declarations.ts';
import type { JobMetrics } from './metrics.ts';
import { createQueueEntries, queueOfJob } from './queue/queue.ts';

/** The maximum number of waiting jobs of a kind for which a sweep adds entries. One is enough, unless the workers are of an earlier version. */
const MAX_OVERDUE = 100;
/** The maximum number of jobs of dead workers for which a sweep adds entries. */
const MAX_EXPIRED = 1000;
/** The number at which counting stops: a larger backlog is as alarming, and counting it would take long. */
const MAX_COUNTED = 100_000;
const STATE_EVERY_MS = 15_000;
/** In an app without jobs, which may have had some before. */
const UNUSED_EVERY_MS = 600_000;
/** A warning about jobs without a declaration is repeated after this time. */
const WARN_EVERY_MS = 3_600_000;

// $1 the declared kinds of jobs, $2 where the search for waiting ones of each begins, $3 where that for running ones does. Names that are not
// declared are between those that are, so that the search does not visit old rows of declared ones. Uses indexes background_jobs_waiting_index and background_jobs_running_index.
const STATE = `
  with declared as materialized (select name, since from unnest($1::text[], $2::timestamptz[]) d(name, since)),
  gaps as (
    select lag(name, 1, '') over (order by name) as above, name as below from declared
  )
  select name, status, count(*)::int, extract(epoch from now() - min(run_at) filter (where run_at <= now()))::float8
  from (
    select declared.name, 'waiting' as status, j.run_at from declared cross join lateral (
      select run_at from background_jobs
      where name = declared.name and status = 'waiting' and run_at >= declared.since order by run_at limit ${MAX_COUNTED}) j
    union all
    select j.name, 'waiting', j.run_at from gaps cross join lateral (
      select name, run_at from background_jobs
      where status = 'waiting' and name > gaps.above and name < gaps.below order by name, run_at limit ${MAX_COUNTED}) j
    union all (
      select name, 'waiting', run_at from background_jobs
      where status = 'waiting' and name > (select coalesce(max(name), '') from declared) order by name, run_at limit ${MAX_COUNTED})
    union all (
      select name, 'running', run_at from background_jobs
      where status = 'running' and lease_until >= $3::timestamptz order by lease_until limit ${MAX_COUNTED})
  ) open group by name, status`;
const REMOVE_SCHEDULES = 'delete from background_schedules where name <> all($1::text[]) returning name';

/** A job without an entry. */
type OverdueRow = [name: string, id: string, claims: number];

/** Creates the search for jobs without an entry: those that wait, then those of dead workers. @param names the declared kinds of jobs */
function createJobSearch(database: Platform['database'], names: readonly string[]): OverdueSearch<OverdueRow> {
  const jobs = { table: 'background_jobs', columns: 'name, id, claims' };
  // Skips new jobs, which most likely have their entry. Uses background_jobs_waiting_index.
  const waiting = {
    ...{ ...jobs, time: 'run_at', open: `status = 'waiting'`, each: { column: 'name', values: names } },
    overdue: `run_at <= now() and (claims > 0 or created_at < now() - interval '5 seconds')`,
    limit: MAX_OVERDUE,
  };
  // Uses background_jobs_running_index.
  const expired = {
    ...{ ...jobs, time: 'lease_until', open: `status = 'running'` },
    overdue: `lease_until <= now() and name = any(array[${names.map(quoteLiteral).join(', ')}]::text[])`,
    limit: MAX_EXPIRED,
  };
  return createOverdueSearch(database, 'job_overdue', waiting, expired);
}

type SweepDependencies = Pick<Platform, 'database' | 'queues' | 'settings' | 'log'>;

/**
 * Creates the sweep that counts open jobs for the metrics, and warns of jobs that no declaration can run. It also forgets when schedules
 * that were removed from the app are due: if they are added again, they begin anew.
 */
function createStateSweep(
  { database, log }: SweepDependencies,
  { jobs, schedules }: { jobs: CompiledJobs; schedules: readonly string[] },
  metrics: JobMetrics,
  search: OverdueSearch<OverdueRow>,
): Sweep {
  const warnedAt = new Map<string, number>();

  function warnOfUndeclared(name: string, count: number): void {
    const last = warnedAt.get(name);
    if (last !== undefined && performance.now() - last < WARN_EVERY_MS) return;
    warnedAt.set(name, performance.now());
    log.warn(
      { name, jobs: count },
      `jobs wait whose declaration is missing: add "${name}" to createApp({ jobs }), or cancel them with: npx belfry jobs cancel`,
    );
  }

  return {
    name: 'job state',
    everyMs: jobs.size > 0 ? STATE_EVERY_MS : UNUSED_EVERY_MS,
    async run() {
      type Row = [name: string, status: string, count: number, oldestSeconds: number | null];
      const [waitingFrom, [runningFrom]] = search.starts() as [string[], [string]];
      const values = [[...jobs.keys()], waitingFrom, runningFrom];
      const rows = await database.readSlowly<Row>({ name: 'job_state', text: STATE, values });
      metrics.setState([...jobs.keys()], rows);
      const undeclared = Map.groupBy(
        rows.filter(([name]) => !jobs.has(name)),
        ([name]) => name,
      );
      for (const [name, own] of undeclared)
        warnOfUndeclared(
          name,
          own.reduce((sum, [, , count]) => sum + count, 0),
        );
      await database.write({ name: 'job_schedules_removed', text: REMOVE_SCHEDULES, values: [schedules] });
    },
  };
}

/** Creates the sweeps of jobs: they add entries for rows without one, remove old rows, and watch the state. */
export function createJobSweeps(
  parts: SweepDependencies,
  declared: { jobs: CompiledJobs; schedules: readonly string[] },
  metrics: JobMetrics,
): Sweep[] {
  const { database, queues, settings } = parts;
  const { keepDays, keepFailedDays } = settings.jobs;
  const names = [...declared.jobs.keys()];
  const search = createJobSearch(database, names);
  // These use the indexes background_jobs_done_index and background_jobs_failed_index.
  const finishedJobs = (where: string, days: number) => ({
    ...{ table: 'background_jobs', column: 'finished_at', where, keep: `${days} * interval '1 day'` },
    maxBatches: Number.POSITIVE_INFINITY,
  });
  const retention = createRetentionSweep(database, {
    name: 'job retention',
    ...(names.length > 0 ? {} : { everyMs: UNUSED_EVERY_MS }),
    removals: [
      finishedJobs("status in ('succeeded', 'cancelled')", keepDays),
      finishedJobs("status = 'failed'", keepFailedDays),
    ],
  });
  const reclaim = createReclaimSweep({
    name: 'jobs',
    everyMs: settings.relay.sweepMs,
    find: search.find,
    async addJobs(rows) {
      const byName = Map.groupBy(rows, ([name]) => name);
      const adding = [...byName].map(([name, own]) =>
        queues.add(queueOfJob(name), createQueueEntries(own.map(([, id, claims]) => ({ id, claims })))),
      );
      await Promise.all(adding);
    },
  });
  return [...(names.length > 0 ? [reclaim] : []), retention, createStateSweep(parts, declared, metrics, search)];
}
