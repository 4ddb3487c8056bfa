import type { Platform } from '../platform/platform.ts';
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

// For each kind of job ($1, with the time at which its search begins in $2), so that a long backlog of one does not keep the others from being
// found. $3: where the search for expired leases begins. Skips new rows, which most likely have their entry. Returns at least one row for each
// kind, for the time. Uses indexes background_jobs_waiting_index and background_jobs_running_index.
const OVERDUE = `
  select extract(epoch from now())::float8, false, declared.name, j.id, j.claims, extract(epoch from j.run_at)::float8
  from unnest($1::text[], $2::float8[]) declared(name, since) left join lateral (
    select id, claims, run_at from background_jobs
    where name = declared.name and status = 'waiting' and run_at >= to_timestamp(declared.since) and run_at <= now()
      and (claims > 0 or created_at < now() - interval '5 seconds')
    order by run_at limit ${MAX_OVERDUE}
  ) j on true
  union all (
    select extract(epoch from now())::float8, true, name, id, claims, extract(epoch from lease_until)::float8 from background_jobs
    where status = 'running' and lease_until >= to_timestamp($3::float8) and lease_until <= now() and name = any($1)
    order by lease_until limit ${MAX_EXPIRED})`;

// $1 to $3 as above. Names that are not declared are between those that are, so that the search does not visit old rows of declared ones. Uses
// indexes background_jobs_waiting_index and background_jobs_running_index.
const STATE = `
  with declared as materialized (select name, since from unnest($1::text[], $2::float8[]) d(name, since)),
  gaps as (
    select lag(name, 1, '') over (order by name) as above, name as below from declared
  )
  select name, status, count(*)::int, extract(epoch from now() - min(run_at) filter (where run_at <= now()))::float8
  from (
    select declared.name, 'waiting' as status, j.run_at from declared cross join lateral (
      select run_at from background_jobs
      where name = declared.name and status = 'waiting' and run_at >= to_timestamp(declared.since) order by run_at limit ${MAX_COUNTED}) j
    union all
    select j.name, 'waiting', j.run_at from gaps cross join lateral (
      select name, run_at from background_jobs
      where status = 'waiting' and name > gaps.above and name < gaps.below order by name, run_at limit ${MAX_COUNTED}) j
    union all (
      select name, 'waiting', run_at from background_jobs
      where status = 'waiting' and name > (select coalesce(max(name), '') from declared) order by name, run_at limit ${MAX_COUNTED})
    union all (
      select name, 'running', run_at from background_jobs
      where status = 'running' and lease_until >= to_timestamp($3::float8) order by lease_until limit ${MAX_COUNTED})
  ) open group by name, status`;
const REMOVE_SCHEDULES = 'delete from background_schedules where name <> all($1::text[]) returning name';

/** A search of everything takes at most this part of the time, but runs at least every ten minutes. */
const SEARCH_ALL_SHARE = 0.01;
const MAX_SEARCH_ALL_WAIT_MS = 600_000;
/** Seconds before now at which a search begins that found nothing before. New rows are skipped for 5 s. */
const SEARCH_BACK_SECONDS = 10;

/** `time`: when the job was due, or when its lease ended, in seconds since 1970. */
type OverdueRow = [now: number, isExpired: boolean, name: string, id: string | null, claims: number, time: number];

/**
 * Where the searches for overdue jobs begin. While another session holds an old snapshot, vacuum cannot remove rows that were handled long
 * ago, so a search begins behind them. Now and then it visits all rows, more rarely the longer that takes: a job may have been stored late.
 */
class JobSearch {
  readonly #names: readonly string[];
  #since: Map<string, number> = new Map();
  #expiredSince = Number.NEGATIVE_INFINITY;
  #searchAllAt = 0;

  constructor(names: readonly string[]) {
    this.#names = names;
  }

  /** The parameters $1 to $3 of `OVERDUE` and `STATE`. */
  get parameters(): unknown[] {
    return [
      this.#names,
      this.#names.map((name) => this.#since.get(name) ?? Number.NEGATIVE_INFINITY),
      this.#expiredSince,
    ];
  }

  /** Searches for overdue jobs. @param search runs `OVERDUE` with these parameters */
  async run(search: (parameters: unknown[]) => Promise<OverdueRow[]>): Promise<OverdueRow[]> {
    const startedAt = performance.now();
    const isAll = startedAt >= this.#searchAllAt;
    if (isAll) {
      this.#since.clear();
      this.#expiredSince = Number.NEGATIVE_INFINITY;
    }
    const rows = await search(this.parameters);
    if (isAll) {
      const now = performance.now();
      this.#searchAllAt = now + Math.min((now - startedAt) / SEARCH_ALL_SHARE, MAX_SEARCH_ALL_WAIT_MS);
    }
    const back = rows[0]![0] - SEARCH_BACK_SECONDS;
    // The first row of each kind is its oldest.
    for (const [, isExpired, name, id, , time] of rows.toReversed())
      if (!isExpired) this.#since.set(name, id === null ? back : Math.min(time, back));
    this.#expiredSince = Math.min(back, ...rows.filter((row) => row[1]).map((row) => row[5]));
    return rows.filter(([, , , id]) => id !== null);
  }
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
  search: JobSearch,
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
      const rows = await database.readSlowly<Row>({ name: 'job_state', text: STATE, values: search.parameters });
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
  const search = new JobSearch(names);
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
    find: () => search.run((values) => database.write<OverdueRow>({ name: 'job_overdue', text: OVERDUE, values })),
    async addJobs(rows) {
      const byName = Map.groupBy(rows, ([, , name]) => name);
      const adding = [...byName].map(([name, own]) =>
        queues.add(queueOfJob(name), createQueueEntries(own.map(([, , , id, claims]) => ({ id: id!, claims })))),
      );
      await Promise.all(adding);
    },
  });
  return [...(names.length > 0 ? [reclaim] : []), retention, createStateSweep(parts, declared, metrics, search)];
}
