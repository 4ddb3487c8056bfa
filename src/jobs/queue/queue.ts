import type { NewJob } from '../../platform/work/queues/queues.ts';

/** The maximum delay of a job in Redis. The sweep enqueues jobs that are due later, when they are due. */
const MAX_DELAY_MS = 86_400_000;

/**
 * ms that a search for due jobs begins before the last claimed job. Transactions do not commit in the order in which they store jobs; `enqueue`
 * names the jobs that commit later.
 */
export const LATE_COMMIT_MS = 1000;

const PREFIX = 'job.';

/** Returns the queue of a job. Each job has its own, so that each has its own concurrency and a slow one does not delay others. */
export function queueOfJob(name: string): string {
  return PREFIX + name;
}

/** Whether a queue is that of a job. */
export const isJobQueue = (name: string): boolean => name.startsWith(PREFIX);

/** The name of entries that stand for all due jobs of a kind. */
export const WAKE_UP = 'wake-up';

/**
 * Creates the entry that means "this kind of job has work": the worker finds the jobs in Postgres. At most one waits in a queue. One that is
 * added while another is handled comes after it. It names a row because workers of earlier versions run only that one.
 */
export function createWakeUp(id: string): NewJob {
  return { name: WAKE_UP, data: { id }, opts: { deduplication: { id: 'work', keepLastIfActive: true } } };
}

/** Creates an entry of a row that a search for due rows may not find. Unlike those of `createQueueEntries`, it does not replace an earlier one. */
export function createRowEntry(id: string): NewJob {
  return { name: 'run', data: { id } };
}

/** A row to enqueue. */
export interface QueuedRow {
  id: string;
  /** The number of claims of the row so far. */
  claims: number;
  /** ms until it is due. */
  delayMs?: number;
}

/**
 * Creates entries for single rows: those that are due later, and those that a search may not find. The id of an entry names the claim that it
 * leads to, so that the next attempt can be added while the entry of this one is still active. A row has at most one live entry, and one with a
 * delay: if the row is due earlier than that, because a clock was wrong, the sweep adds the other one. Rows that are due much later get none.
 */
export function createQueueEntries(rows: readonly QueuedRow[]): NewJob[] {
  return rows
    .filter(({ delayMs = 0 }) => delayMs <= MAX_DELAY_MS)
    .map(({ id, claims, delayMs = 0 }) => {
      const jobId = `job_${id}_${claims}`;
      const opts = delayMs > 0 ? { jobId: `${jobId}_later`, delay: Math.ceil(delayMs) } : { jobId };
      return { ...createRowEntry(id), opts };
    });
}
