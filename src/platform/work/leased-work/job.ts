import type { Executor } from '../../data/postgres/queryable.ts';
import { retryWhileUnavailable } from '../../data/postgres/retry.ts';
import { LazyAbort } from '../../helpers/concurrency/lazy-abort.ts';
import { type LogWork, startTimer } from '../../observability/log-work.ts';
import { LeaseLostError, type LeaseRenewals } from './lease.ts';

/** The result of an attempt, for its log line: an outcome in a word, and counts. No personal data. */
export interface AttemptResult {
  /** The outcome in a word: `sent` or `ready`; `retry` or `failed` for failures. */
  outcome: string;
  [field: string]: unknown;
}

/** A kind of leased work that is done by jobs of a queue, one row per job. */
export interface LeasedJob<Lease> {
  /** The name of the work in a word: the `msg` of its log lines. */
  unit: string;
  /** The database of the rows. While it is unavailable, claims and failed attempts wait for it. */
  database?: Executor;
  /** Claims the row with this id. Undefined: the row is finished, not due, deleted, or claimed by another worker. */
  claim(id: string): Promise<Lease | undefined>;
  /** The lease renewals of this process. Omit them for work that always ends before its lease expires. */
  renewals?: LeaseRenewals<Lease>;
  /**
   * Does the work and stores its result.
   *
   * @param lost aborted when a renewal finds that the lease is lost
   * @throws LeaseLostError if a write finds that the lease is lost
   */
  run(lease: Lease, lost: AbortSignal): Promise<AttemptResult>;
  /** Stores a failed attempt, to be retried (outcome `retry`) or as final (outcome `failed`). */
  fail(lease: Lease, error: unknown): Promise<AttemptResult>;
  /** Returns ids and the attempt number, for the log line. */
  describe(lease: Lease): Record<string, unknown>;
  /** Returns the loggable part of an error. Default: the whole error. */
  describeError?(error: unknown): Record<string, unknown>;
}

/** How claimed rows of a kind are worked on. */
interface LeasedWork<Lease> extends Omit<LeasedJob<Lease>, 'claim' | 'run'> {
  /** Like `run` of `LeasedJob`. @param abort aborted when a renewal finds that the lease is lost */
  run(lease: Lease, abort: LazyAbort): Promise<AttemptResult>;
}

/**
 * Creates the function that works on a claimed row: it renews the lease while the work runs, stores the result or the failure, and logs one
 * line.
 */
export function createLeaseRunner<Lease>(
  work: LeasedWork<Lease>,
  logWork: LogWork,
): (lease: Lease) => Promise<AttemptResult> {
  const { unit, database, renewals, run, fail, describe, describeError = (error) => ({ err: error }) } = work;

  const waitForPostgres = <T>(statement: () => Promise<T>) =>
    database === undefined ? statement() : retryWhileUnavailable(database, statement);

  async function attemptWork(lease: Lease, abort: LazyAbort): Promise<[AttemptResult, level: 'info' | 'error']> {
    try {
      return [await run(lease, abort), 'info'];
    } catch (error) {
      if (error instanceof LeaseLostError) throw error;
      return [{ ...(await waitForPostgres(() => fail(lease, error))), ...describeError(error) }, 'error'];
    }
  }

  async function attemptUnderLease(lease: Lease): Promise<[AttemptResult, level: 'info' | 'error']> {
    const abort = new LazyAbort();
    renewals?.add(lease, () =>
      abort.abort(new LeaseLostError('the row was ended, deleted, or claimed by another worker')),
    );
    try {
      return await attemptWork(lease, abort);
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error;
      return [{ outcome: 'lost', reason: error.message }, 'info'];
    } finally {
      renewals?.remove(lease);
    }
  }

  return async (lease) => {
    const elapsed = startTimer();
    const [result, level] = await attemptUnderLease(lease);
    logWork(unit, { ...describe(lease), ...result, durationMs: elapsed() }, { level });
    return result;
  };
}

/**
 * Creates the function that runs one job of leased work: it claims the row, renews its lease while the work runs, stores the result or the
 * failure, and logs one line. A job whose row cannot be claimed does nothing, so a row may have two jobs.
 */
export function createLeasedJob<Lease>(
  job: LeasedJob<Lease>,
  logWork: LogWork,
): (id: string) => Promise<AttemptResult | undefined> {
  const { database, claim, run } = job;
  const runLease = createLeaseRunner({ ...job, run: (lease: Lease, abort) => run(lease, abort.signal) }, logWork);
  return async (id) => {
    const lease = await (database === undefined ? claim(id) : retryWhileUnavailable(database, () => claim(id)));
    return lease === undefined ? undefined : runLease(lease);
  };
}
