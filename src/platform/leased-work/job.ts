import { createTimer, type LogWork } from '../log-work.ts';
import { LeaseLostError, type LeaseRenewals } from './lease.ts';

/** How an attempt ended, for its log line: an outcome in a word, and counts. No personal data. */
export interface AttemptResult {
  /** `sent`, `ready`; of failures `retry` or `failed`. */
  outcome: string;
  [field: string]: unknown;
}

/** One kind of leased work that jobs of a queue do, a row for each job. */
export interface LeasedJob<Lease> {
  /** What it is, in a word: the `msg` of its log lines. */
  unit: string;
  /** Claims the row. Undefined: it is finished, not due, gone, or another worker has it. */
  claim(id: string): Promise<Lease | undefined>;
  /** Left out for work that always ends before its lease. */
  renewals?: LeaseRenewals<Lease>;
  /**
   * Does the work, and stores its result.
   *
   * @param lost aborted when a renewal finds that the lease is lost
   * @throws LeaseLostError when a write finds that
   */
  run(lease: Lease, lost: AbortSignal): Promise<AttemptResult>;
  /** Stores that an attempt failed: `retry` or `failed`. */
  fail(lease: Lease, error: unknown): Promise<AttemptResult>;
  /** Ids and the number of the attempt, for the log line. */
  describe(lease: Lease): Record<string, unknown>;
  /** What the log may say of an error. Left out: all of it. */
  describeError?(error: unknown): Record<string, unknown>;
}

/**
 * Creates the function that does one job of leased work: claims the row, renews its lease while the work runs, stores the result or the
 * failure, and logs one line. A job whose row cannot be claimed does nothing, so a row may have two jobs.
 */
export function createLeasedJob<Lease>(
  job: LeasedJob<Lease>,
  logWork: LogWork,
): (id: string) => Promise<AttemptResult | undefined> {
  const { unit, claim, renewals, run, fail, describe, describeError = (error) => ({ err: error }) } = job;

  async function attempt(lease: Lease, lost: AbortSignal): Promise<[AttemptResult, level: 'info' | 'error']> {
    try {
      return [await run(lease, lost), 'info'];
    } catch (error) {
      if (error instanceof LeaseLostError) throw error;
      return [{ ...(await fail(lease, error)), ...describeError(error) }, 'error'];
    }
  }

  async function attemptUnderLease(lease: Lease): Promise<[AttemptResult, level: 'info' | 'error']> {
    const lost = new AbortController();
    renewals?.add(lease, () => lost.abort(new LeaseLostError('another worker has it')));
    try {
      return await attempt(lease, lost.signal);
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error;
      return [{ outcome: 'lost', reason: error.message }, 'info'];
    } finally {
      renewals?.remove(lease);
    }
  }

  return async (id) => {
    const lease = await claim(id);
    if (lease === undefined) return undefined;
    const elapsed = createTimer();
    const [result, level] = await attemptUnderLease(lease);
    logWork(unit, { ...describe(lease), ...result, durationMs: elapsed() }, { level });
    return result;
  };
}
