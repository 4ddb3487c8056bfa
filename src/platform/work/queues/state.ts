import type { Queue } from 'bullmq';
import type { RedisConnections } from '../../data/redis/connections.ts';
import { withDeadline } from '../../helpers/concurrency/deadline.ts';
import type { ProcessList, QueueState } from '../processes/facts.ts';
import type { Queues } from './queues.ts';

/** What the states are read from. */
export interface QueueSources {
  queues: Queues;
  redis: RedisConnections;
}

/** Seconds that the next entry of a queue waits at most while its workers keep up. */
export const MAX_QUEUE_SECONDS = 60;

const MAX_LISTED_FAILURES = 20;
/** BullMQ waits for Redis without a limit. */
const DEADLINE_MS = 3000;

/** @throws the error of Redis, or an error that Redis is not connected */
export function assertRedisReady({ redis }: Pick<QueueSources, 'redis'>): void {
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
export function listQueueNames({ queues }: Pick<QueueSources, 'queues'>, list: ProcessList): string[] {
  return [...new Set([...queues.workedQueues(), ...list.queues])].sort();
}

/**
 * Reads all queues, side by side: two round trips to Redis.
 *
 * @throws the error of Redis if it is not usable
 */
export async function readQueues(sources: QueueSources, list: ProcessList): Promise<QueueState[]> {
  assertRedisReady(sources);
  const facts = list.processes.flatMap(({ facts: { queues = [] } = {} }) => queues);
  return Promise.all(
    listQueueNames(sources, list).map(async (name) => {
      const { counts, oldestSeconds } = await withDeadline(readCounts(sources.queues.queue(name)), DEADLINE_MS);
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
