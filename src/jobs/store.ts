import { LeaseLostError } from '../platform/leased-work/lease.ts';
import type { Database } from '../platform/postgres/database.ts';

/** Seconds that a lease lasts. A live worker renews its leases; those of a dead one expire. */
const LEASE_SECONDS = 30;

// A queue entry may be a little early. An expired lease is free. The fence is `claims`. Uses the primary key.
const CLAIM = `
  update background_jobs set status = 'running', attempts = attempts + 1, claims = claims + 1, started_at = now(),
    lease_until = now() + interval '${LEASE_SECONDS} seconds', progress = null
  where id = $1 and (
    status = 'waiting' and run_at <= now() + interval '50 milliseconds' or status = 'running' and lease_until <= now())
  returning name, input::text, attempts, claims, scheduled_at, user_id, request_id, trace`;
const HELD = `id = $1 and claims = $2 and status = 'running'`;
const RENEW = `
  update background_jobs j set lease_until = now() + interval '${LEASE_SECONDS} seconds'
  from unnest($1::text[], $2::int[]) held(id, claims)
  where j.id = held.id and j.claims = held.claims and j.status = 'running'
  returning j.id`;
const STORE_PROGRESS = `update background_jobs set progress = $3::jsonb where ${HELD} returning 1`;
const FINISH = `
  update background_jobs set status = $3, finished_at = now(), lease_until = null, result = $4::jsonb, error = $5,
    progress = coalesce($6::jsonb, progress)
  where ${HELD} returning 1`;
const RETRY = `
  update background_jobs set status = 'waiting', lease_until = null, error = $3, progress = coalesce($4::jsonb, progress),
    run_at = now() + $5::float8 * interval '1 millisecond'
  where ${HELD} returning 1`;
// The attempt does not count, because the process ended it.
const RELEASE = `
  update background_jobs set status = 'waiting', lease_until = null, attempts = attempts - 1, run_at = now(), progress = null
  where ${HELD} returning 1`;

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

/** Creates the store of a worker. */
export function createJobStore(database: Pick<Database, 'write'>): JobStore {
  async function writeIfHeld(
    name: string,
    text: string,
    { id, claims }: ClaimedJob,
    ...values: unknown[]
  ): Promise<void> {
    const rows = await database.write({ name, text, values: [id, claims, ...values] });
    if (rows.length === 0) throw new LeaseLostError('it was cancelled, deleted, or claimed by another worker');
  }

  return {
    async claim(id) {
      type Row = [string, string | null, number, number, string, string | null, string | null, string | null];
      const [row] = await database.write<Row>({ name: 'job_claim', text: CLAIM, values: [id] });
      if (row === undefined) return undefined;
      const [name, input, attempt, claims, scheduledAt, userId, requestId, trace] = row;
      return { id, name, input, attempt, claims, scheduledAt, userId, requestId, trace };
    },
    async renew(jobs) {
      const values = [jobs.map(({ id }) => id), jobs.map(({ claims }) => claims)];
      const held = new Set((await database.write<[string]>({ name: 'job_renew', text: RENEW, values })).flat());
      return jobs.filter(({ id }) => held.has(id));
    },
    storeProgress: (job, progress) => writeIfHeld('job_progress', STORE_PROGRESS, job, progress),
    finish: (job, { status, result, error, progress }) =>
      writeIfHeld('job_finish', FINISH, job, status, result, error, progress),
    retryLater: (job, { error, progress }, delayMs) => writeIfHeld('job_retry', RETRY, job, error, progress, delayMs),
    release: (job) => writeIfHeld('job_release', RELEASE, job),
  };
}
