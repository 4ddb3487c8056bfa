import type { Job, Queue } from 'bullmq';
import { ApiError, type Host, redactTokens, withDeadline } from '../../../extension/index.ts';
import type { QueueFailure } from '../../../platform/work/processes/facts.ts';
import type { ProcessList } from './processes.ts';

/** A queue of entries, each of which points to a row in Postgres. */
export interface QueueState {
  name: string;
  waiting: number;
  active: number;
  /** Entries for a later time. */
  delayed: number;
  /** Entries that failed and were kept. Belfry keeps none: the relay enqueues the work again. */
  failed: number;
  /** How long the next entry has been waiting, in seconds; null: none waits. */
  oldestSeconds: number | null;
  /** The processes that work on the queue, and how many entries they can run at once. */
  workers: number;
  concurrency: number;
  /** The newest failures that the processes remember. */
  failures: QueueFailure[];
}

const MAX_LISTED_FAILURES = 20;
const MAX_FAILED = 50;
const MAX_TEXT = 500;

/** BullMQ waits for Redis without a limit. */
const DEADLINE_MS = 3000;

type QueueHost = Pick<Host, 'queues' | 'redis'>;

/** @throws the error of Redis, or an error that Redis is not connected */
function requireRedis({ redis }: QueueHost): void {
  if (redis.commands.status !== 'ready') throw redis.lastError() ?? new Error('is not connected');
}

type Counts = Record<'wait' | 'active' | 'delayed' | 'prioritized' | 'failed', number>;

/** Reads a queue: one round trip for the counts and the next entry, and one for the time of that entry. */
async function readCounts(queue: Queue): Promise<{ counts: Counts; oldestSeconds: number | null }> {
  const [counts, [next]] = await Promise.all([
    queue.getJobCounts('wait', 'active', 'delayed', 'prioritized', 'failed'),
    queue.getJobs(['wait'], 0, 0, true),
  ]);
  const oldestSeconds = next === undefined ? null : Math.max(0, Math.round((Date.now() - next.timestamp) / 1000));
  return { counts: counts as Counts, oldestSeconds };
}

/** Returns the names of all queues: the queues of this process, and every queue that a process worked on within a week. */
function listNames(host: Pick<Host, 'queues'>, { queues }: ProcessList): string[] {
  return [...new Set([...host.queues.workedQueues(), ...queues])].sort();
}

/**
 * Reads all queues, side by side: two round trips to Redis.
 *
 * @throws the error of Redis if it is not usable
 */
export async function readQueues(host: QueueHost, list: ProcessList): Promise<QueueState[]> {
  requireRedis(host);
  const facts = list.processes.flatMap(({ facts: { queues = [] } = {} }) => queues);
  return Promise.all(
    listNames(host, list).map(async (name) => {
      const { counts, oldestSeconds } = await withDeadline(readCounts(host.queues.queue(name)), DEADLINE_MS);
      const workers = facts.filter((one) => one.name === name);
      const failures = workers.flatMap((one) => one.failures).sort((a, b) => b.at.localeCompare(a.at));
      return {
        name,
        waiting: counts.wait + counts.prioritized,
        active: counts.active,
        delayed: counts.delayed,
        failed: counts.failed,
        oldestSeconds,
        workers: workers.length,
        concurrency: workers.reduce((sum, { concurrency }) => sum + concurrency, 0),
        failures: failures.slice(0, MAX_LISTED_FAILURES),
      };
    }),
  );
}

/** Returns a queue. @throws ApiError NOT_FOUND for a name that no process has used */
function findQueue(host: QueueHost, list: ProcessList, name: string): Queue {
  requireRedis(host);
  if (!listNames(host, list).includes(name)) throw new ApiError('NOT_FOUND');
  return host.queues.queue(name);
}

/** Reads the newest entries of a queue that failed and were kept. */
export async function readFailedEntries(host: QueueHost, list: ProcessList, name: string) {
  const jobs = await findQueue(host, list, name).getJobs(['failed'], 0, MAX_FAILED - 1);
  return jobs.map((job) => ({
    id: job.id,
    name: job.name,
    row: job.data?.id ?? null,
    attempts: job.attemptsMade,
    error: redactTokens(job.failedReason ?? '').slice(0, MAX_TEXT),
    at: new Date(job.finishedOn ?? job.timestamp).toISOString(),
  }));
}

/** Retries or removes an entry that failed. @throws ApiError NOT_FOUND, or CONFLICT if the entry is no longer among the failed ones */
export async function changeFailedEntry(
  host: QueueHost,
  list: ProcessList,
  { name, id }: { name: string; id: string },
  change: (job: Job) => Promise<unknown>,
): Promise<void> {
  const job = await findQueue(host, list, name).getJob(id);
  if (job === undefined) throw new ApiError('NOT_FOUND');
  if (!(await job.isFailed())) throw new ApiError('CONFLICT', 'This entry is no longer among the failed ones');
  await change(job);
}
