import type { Database } from '../platform/data/postgres/database.ts';
import { createMicroBatch } from '../platform/helpers/concurrency/micro-batch.ts';
import { LeaseLostError } from '../platform/work/leased-work/lease.ts';
import { leaseSql, renewLeases } from '../platform/work/leased-work/leased-rows.ts';

/** The maximum number of jobs that one statement claims or finishes. */
const MAX_BATCH = 100;

const LEASES = leaseSql({
  table: 'background_jobs',
  fence: { id: 'text', claims: 'int' },
  until: 'lease_until',
  leaseSeconds: 30,
  open: `status = 'running'`,
});
// A queue entry may be a little early. An expired lease is free. Uses the primary key.
const CLAIM = LEASES.claim(
  'background_jobs c',
  `c.id = any($1::text[]) and (
    status = 'waiting' and run_at <= now() + interval '50 milliseconds' or status = 'running' and lease_until <= now())`,
  {
    set: `status = 'running', attempts = attempts + 1, started_at = now(), progress = null`,
    returning: 'c.id, name, input::text, attempts, claims, scheduled_at, user_id, request_id, trace',
  },
);
const STORE_PROGRESS = `update background_jobs set progress = $3::jsonb where ${LEASES.held} returning 1`;
const FINISH = `
  update background_jobs j set status = e.status, finished_at = now(), lease_until = null, result = e.result::jsonb,
    error = e.error, progress = coalesce(e.progress::jsonb, j.progress)
  from unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[])
    e(id, claims, status, result, error, progress)
  where j.id = e.id and j.claims = e.claims and j.status = 'running'
  returning j.id`;
const RETRY = `
  update background_jobs set status = 'waiting', lease_until = null, error = $3, progress = coalesce($4::jsonb, progress),
    run_at = now() + $5::float8 * interval '1 millisecond'
  where ${LEASES.held} returning 1`;
// The attempt does not count, because the process ended it.
const RELEASE = `
  update background_jobs set status = 'waiting', lease_until = null, attempts = attempts - 1, run_at = now(), progress = null
  where ${LEASES.held} returning 1`;

/** A job that this worker has claimed. Its writes throw a LeaseLostError if it was cancelled, deleted or claimed by another worker. */
export interface ClaimedJob {
  id: string;
  name: string;
  /** JSON; null without input. */
  input: string | null;
  /** The number of the attempt, from 1. */
  attempt: number;
  /** The number of the claim: its fence. */
  claims: number;
  /** ISO 8601. */
  scheduledAt: string;
  userId: string | null;
  requestId: string | null;
  trace: string | null;
}

/** How a job ended. */
export interface JobEnd {
  status: 'succeeded' | 'failed';
  /** JSON; null without a result. */
  result: string | null;
  error: string | null;
  /** The last progress, if it is not stored yet: JSON. */
  progress: string | null;
}

/** The writes of a worker to the jobs that it runs. */
export interface JobStore {
  /** Claims a job. Undefined if it is not due, finished, deleted, or held by another worker. */
  claim(id: string): Promise<ClaimedJob | undefined>;
  /** Extends leases. Returns the jobs whose leases are still held. */
  renew(jobs: readonly ClaimedJob[]): Promise<ClaimedJob[]>;
  /** Stores the progress of a run. */
  storeProgress(job: ClaimedJob, progress: string): Promise<void>;
  finish(job: ClaimedJob, end: JobEnd): Promise<void>;
  /** Stores a failed attempt; the next one is due after `delayMs`. */
  retryLater(job: ClaimedJob, failure: Pick<JobEnd, 'error' | 'progress'>, delayMs: number): Promise<void>;
  /** Gives a job back because this process stops. */
  release(job: ClaimedJob): Promise<void>;
}

/**
 * Creates the store of a worker. Jobs that start or end while the previous statement runs are claimed or finished together, in one
 * statement.
 */
export function createJobStore(database: Pick<Database, 'write'>): JobStore {
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

  async function claimBatch(ids: string[]): Promise<(ClaimedJob | undefined)[]> {
    type Row = [string, string, string | null, number, number, string, string | null, string | null, string | null];
    const rows = await database.write<Row>({ name: 'job_claim', text: CLAIM, values: [ids] });
    const byId = new Map(
      rows.map(([id, name, input, attempt, claims, scheduledAt, userId, requestId, trace]) => [
        id,
        { id, name, input, attempt, claims, scheduledAt, userId, requestId, trace },
      ]),
    );
    // A row may have two entries in one batch; the claim belongs to the first.
    return ids.map((id, i) => (ids.indexOf(id) === i ? byId.get(id) : undefined));
  }

  async function finishBatch(items: { job: ClaimedJob; end: JobEnd }[]): Promise<boolean[]> {
    const values = [
      items.map(({ job }) => job.id),
      items.map(({ job }) => job.claims),
      ...(['status', 'result', 'error', 'progress'] as const).map((member) => items.map(({ end }) => end[member])),
    ];
    const held = new Set((await database.write<[string]>({ name: 'job_finish', text: FINISH, values })).flat());
    return items.map(({ job }) => held.has(job.id));
  }

  const finish = createMicroBatch(finishBatch, MAX_BATCH);

  return {
    claim: createMicroBatch(claimBatch, MAX_BATCH),
    renew: (jobs) =>
      renewLeases(database, { name: 'job_renew', text: LEASES.renew }, jobs, ({ id, claims }) => [id, claims]),
    storeProgress: (job, progress) => writeIfHeld('job_progress', STORE_PROGRESS, job, progress),
    async finish(job, end) {
      if (!(await finish({ job, end }))) throw lost();
    },
    retryLater: (job, { error, progress }, delayMs) => writeIfHeld('job_retry', RETRY, job, error, progress, delayMs),
    release: (job) => writeIfHeld('job_release', RELEASE, job),
  };
}
