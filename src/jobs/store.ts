import type { Database } from '../platform/data/postgres/database.ts';
import { Settled, SNAPSHOT } from '../platform/data/postgres/settled.ts';
import { createMicroBatch } from '../platform/helpers/concurrency/micro-batch.ts';
import { LeaseLostError } from '../platform/work/leased-work/lease.ts';
import { leaseSql, renewLeases } from '../platform/work/leased-work/leased-rows.ts';
import { LATE_COMMIT_MS } from './queue/queue.ts';

/** The maximum number of jobs that one statement starts or finishes. */
const MAX_BATCH = 500;
const LATE_COMMIT_SECONDS = LATE_COMMIT_MS / 1000;
/** Larger than any number of attempts. */
const ALL_ATTEMPTS = 1000;

/**
 * The condition of a claimed job. Not `= 'running'`: Postgres would then use background_jobs_running_index and compare every running job,
 * including dead rows, instead of using the primary key.
 */
const RUNNING = `status is not distinct from 'running'`;

const LEASES = leaseSql({
  table: 'background_jobs',
  fence: { id: 'text', claims: 'int' },
  until: 'lease_until',
  leaseSeconds: 30,
  open: RUNNING,
});
/**
 * Claims jobs of one kind. $1 name, $2 maximum number. The search begins at $3 (seconds since 1970), because rows before it were claimed long
 * ago, and vacuum cannot remove them while another session holds an old snapshot. $4: ids of jobs that the search cannot find, because they are
 * due before $3, or up to 50 ms from now, because clocks differ, or their lease has expired. $5: attempts are counted here for jobs with at most
 * this many earlier attempts; `START` counts the others. `case` makes Postgres use the primary key for $4; the search uses background_jobs_waiting_index.
 * Always returns a row, for the time and the snapshot.
 */
const CLAIM = `
  with listed as materialized (
    select id, attempts, status from background_jobs
    where id = any($4::text[]) and name = $1
      and case status when 'running' then lease_until <= now()
        when 'waiting' then run_at < to_timestamp($3::float8) or run_at > now() and run_at <= now() + interval '50 milliseconds' end
    limit $2::int for update skip locked
  ), searched as materialized (
    select id, attempts from background_jobs
    where name = $1 and status = 'waiting' and run_at >= to_timestamp($3::float8) and run_at <= now()
    order by run_at limit $2::int - (select count(*) from listed) for update skip locked
  ), due as (
    select id, attempts, case status when 'waiting' then 'late' else 'expired' end as found from listed
    union all select id, attempts, 'in order' from searched
  ), claimed as (
    update background_jobs c set status = 'running', lease_until = ${LEASES.end}, claims = c.claims + 1,
      attempts = c.attempts + (due.attempts <= $5::int)::int, started_at = now(), progress = null
    from due where c.id = due.id
    returning c.id, input::text, due.attempts, claims, scheduled_at, user_id, request_id, trace, found,
      extract(epoch from run_at)::float8, organisation_role
  )
  select extract(epoch from now())::float8, ${SNAPSHOT}, claimed.* from (select 1) one left join claimed on true`;
const START = `
  update background_jobs j set attempts = e.attempt, started_at = now()
  from unnest($1::text[], $2::int[], $3::int[]) e(id, claims, attempt)
  where j.id = e.id and j.claims = e.claims and j.${RUNNING}
  returning j.id`;
const STORE_PROGRESS = `update background_jobs set progress = $3::jsonb where ${LEASES.held} returning 1`;
const FINISH = `
  update background_jobs j set status = e.status, finished_at = now(), lease_until = null, result = e.result::jsonb,
    error = e.error, progress = coalesce(e.progress::jsonb, j.progress)
  from unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[])
    e(id, claims, status, result, error, progress)
  where j.id = e.id and j.claims = e.claims and j.${RUNNING}
  returning j.id`;
const RETRY = `
  update background_jobs set status = 'waiting', lease_until = null, error = $3, progress = coalesce($4::jsonb, progress),
    run_at = now() + $5::float8 * interval '1 millisecond'
  where ${LEASES.held} returning 1`;
// The attempt does not count, because the process ended it. The jobs keep their place in the order.
const RELEASE = `
  update background_jobs j set status = 'waiting', lease_until = null, attempts = e.attempt - 1, progress = null
  from unnest($1::text[], $2::int[], $3::int[]) e(id, claims, attempt)
  where j.id = e.id and j.claims = e.claims and j.${RUNNING}
  returning j.id, extract(epoch from j.run_at)::float8`;

/** A job that this worker has claimed. Its writes throw a LeaseLostError if it was cancelled, deleted or claimed by another worker. */
export interface ClaimedJob {
  id: string;
  /** JSON; null without input. */
  input: string | null;
  /** The number of the attempt, from 1. */
  attempt: number;
  /** Whether the claim has counted the attempt. Otherwise `start` does. */
  isCounted: boolean;
  /** The number of the claim: its fence. */
  claims: number;
  /** ISO 8601. */
  scheduledAt: string;
  userId: string | null;
  requestId: string | null;
  trace: string | null;
  /** The role as which an organisation enqueued the job, whose id is `userId`. */
  organisationRole: string | null;
}

/** How a job ended. */
interface JobEnd {
  status: 'succeeded' | 'failed';
  /** JSON; null without a result. */
  result: string | null;
  error: string | null;
  /** The last progress, if it is not stored yet: JSON. */
  progress: string | null;
}

/** What a worker claims. */
interface JobClaim {
  name: string;
  limit: number;
  /** Jobs to claim although the search may not find them. Those that are not due are left out. */
  ids: readonly string[];
  /** The claim counts attempts after which at least one more is possible; all attempts if the jobs start at once. */
  startsAtOnce: boolean;
  maxAttempts: number;
}

/** The writes of a worker to the jobs that it runs. */
export interface JobStore {
  /** Claims due jobs, in the order in which they are due. `mayHaveMore`: whether further jobs may be due. */
  claim(request: JobClaim): Promise<{ leases: ClaimedJob[]; mayHaveMore: boolean }>;
  /** Counts the attempt of a job that was claimed before it could start, and checks that it was not cancelled meanwhile. */
  start(job: ClaimedJob): Promise<void>;
  /** Extends leases. Returns the jobs whose leases are still held. */
  renew(jobs: readonly ClaimedJob[]): Promise<ClaimedJob[]>;
  /** Stores the progress of a run. */
  storeProgress(job: ClaimedJob, progress: string): Promise<void>;
  finish(job: ClaimedJob, end: JobEnd): Promise<void>;
  /** Stores a failed attempt; the next one is due after `delayMs`. */
  retryLater(job: ClaimedJob, failure: Pick<JobEnd, 'error' | 'progress'>, delayMs: number): Promise<void>;
  /** Gives jobs of a kind back that have not ended. Returns the one that is due first, which leads searches to the others; undefined if none was still held. */
  release(name: string, jobs: readonly ClaimedJob[]): Promise<ClaimedJob | undefined>;
}

/** How a claim has found a job: by its search, or by its id because it was stored late or its lease has expired. */
type Found = 'in order' | 'late' | 'expired';
type ClaimedRow = [
  now: number,
  snapshot: string,
  ...(
    | []
    | [
        ...[string, string | null, number, number, string, string | null, string | null, string | null, Found, number],
        organisationRole: string | null,
      ]
  ),
];

/** Where the next search for due jobs of each kind begins, in seconds since 1970 by the clock of Postgres. */
class SearchStarts {
  readonly settled = new Settled();
  readonly #starts = new Map<string, number>();

  get(name: string): number {
    return this.#starts.get(name) ?? Number.NEGATIVE_INFINITY;
  }

  /**
   * Sets the start to `searchedTo`, the time up to which a search has found all jobs that were stored, or to a second before that if more of them
   * may still be stored. Never moves it back.
   *
   * @param settled the time up to which all jobs were stored before the search
   */
  moveTo(name: string, searchedTo: number, settled: number): void {
    this.#starts.set(name, Math.max(this.get(name), searchedTo - LATE_COMMIT_SECONDS, Math.min(searchedTo, settled)));
  }

  /** Moves the start back to a job that a search would not have found. Others may have been stored with it. */
  moveBackTo(name: string, runAt: number): boolean {
    if (runAt >= this.get(name)) return false;
    this.#starts.set(name, runAt - LATE_COMMIT_SECONDS);
    return true;
  }
}

/** Creates the function that claims jobs. */
function createClaim(database: Pick<Database, 'write'>, starts: SearchStarts): JobStore['claim'] {
  return async ({ name, limit, ids, startsAtOnce, maxAttempts }) => {
    const start = starts.get(name);
    const { passed, position } = starts.settled;
    // A worker that dies takes the attempts of jobs that have not started, so it must not have counted their last one.
    const countedAfter = startsAtOnce ? ALL_ATTEMPTS : maxAttempts > 1 ? 0 : -1;
    const values = [name, limit, start, ids, countedAfter];
    const rows = await database.write<ClaimedRow>({ name: 'job_claim', text: CLAIM, values });
    const [[now, snapshot]] = rows as [ClaimedRow];
    starts.settled.noteSnapshot(passed, snapshot);
    const found = rows.flatMap(([, , ...job]) => (job.length === 0 || job[0] === null ? [] : [job]));
    const isClockBack = now < start;
    if (found.length > 0 || isClockBack) starts.settled.notePassedTime(now * 1000);
    found.sort((a, b) => a[9] - b[9]);
    const isFull = found.length >= limit;
    const searched = found.filter((job) => job[8] === 'in order');
    if (!isClockBack) starts.moveTo(name, isFull ? (searched.at(-1)?.[9] ?? start) : now, position / 1000);
    const late = found.filter((job) => job[8] === 'late').map((job) => job[9]);
    const isMovedBack = starts.moveBackTo(name, Math.min(...late, isClockBack ? now : Number.POSITIVE_INFINITY));
    const leases = found.map((job): ClaimedJob => {
      const [id, input, attempts, claims, scheduledAt, userId, requestId, trace, , , organisationRole] = job;
      const isCounted = attempts <= countedAfter;
      const origin = { userId, requestId, trace, organisationRole };
      return { id, input, attempt: attempts + 1, isCounted, claims, scheduledAt, ...origin };
    });
    return { leases, mayHaveMore: isFull || isMovedBack };
  };
}

/** Returns the columns of a statement about several rows. */
const toColumns = (rows: readonly (readonly unknown[])[]) =>
  rows[0]!.map((_, column) => rows.map((row) => row[column]));

/**
 * Creates the store of a worker. Jobs that start or end while the previous statement runs are stored together, in one statement.
 */
export function createJobStore(database: Pick<Database, 'write'>): JobStore {
  const starts = new SearchStarts();
  const lost = () => new LeaseLostError('it was cancelled, deleted, or claimed by another worker');

  async function writeIfHeld(
    name: string,
    text: string,
    { id, claims }: ClaimedJob,
    ...values: unknown[]
  ): Promise<void> {
    const rows = await database.write({ name, text, values: [id, claims, ...values] });
    if (rows.length === 0) throw lost();
  }

  /** Runs a statement about several jobs. Returns whether each was still held. */
  async function writeMany(name: string, text: string, items: readonly (readonly [ClaimedJob, ...unknown[]])[]) {
    const values = toColumns(items.map(([{ id, claims }, ...rest]) => [id, claims, ...rest]));
    const held = new Set((await database.write<[string]>({ name, text, values })).map(([id]) => id));
    return items.map(([{ id }]) => held.has(id));
  }

  const start = createMicroBatch(
    (jobs: ClaimedJob[]) =>
      writeMany(
        'job_start',
        START,
        jobs.map((job) => [job, job.attempt]),
      ),
    MAX_BATCH,
  );
  const finish = createMicroBatch(
    (items: { job: ClaimedJob; end: JobEnd }[]) =>
      writeMany(
        'job_finish',
        FINISH,
        items.map(({ job, end }) => [job, end.status, end.result, end.error, end.progress]),
      ),
    MAX_BATCH,
  );

  return {
    claim: createClaim(database, starts),
    async start(job) {
      if (!(await start(job))) throw lost();
    },
    renew: (jobs) =>
      renewLeases(database, { name: 'job_renew', text: LEASES.renew }, jobs, ({ id, claims }) => [id, claims]),
    storeProgress: (job, progress) => writeIfHeld('job_progress', STORE_PROGRESS, job, progress),
    async finish(job, end) {
      if (!(await finish({ job, end }))) throw lost();
    },
    retryLater: (job, { error, progress }, delayMs) => writeIfHeld('job_retry', RETRY, job, error, progress, delayMs),
    async release(name, jobs) {
      const values = toColumns(jobs.map(({ id, claims, attempt }) => [id, claims, attempt]));
      const released = await database.write<[id: string, dueAt: number]>({
        name: 'job_release',
        text: RELEASE,
        values,
      });
      const [first] = released.toSorted((a, b) => a[1] - b[1]);
      if (first !== undefined) starts.moveBackTo(name, first[1]);
      return jobs.find(({ id }) => id === first?.[0]);
    },
  };
}
