import type { Job, Queue } from 'bullmq';
import { ApiError, redactTokens } from '../../../extension/index.ts';
import type { ProcessList } from '../../../platform/work/processes/facts.ts';
import { assertRedisReady, listQueueNames, type QueueSources } from '../../../platform/work/queues/state.ts';
import type { FailedEntry } from './responses.ts';

const MAX_FAILED = 50;
const MAX_TEXT = 500;

/** Returns a queue. @throws ApiError NOT_FOUND for a name that no process has used */
function findQueue(host: QueueSources, list: ProcessList, name: string): Queue {
  assertRedisReady(host);
  if (!listQueueNames(host, list).includes(name)) throw new ApiError('NOT_FOUND');
  return host.queues.queue(name);
}

/** Reads the newest entries of a queue that failed and were kept. */
export async function readFailedEntries(host: QueueSources, list: ProcessList, name: string): Promise<FailedEntry[]> {
  const jobs = await findQueue(host, list, name).getJobs(['failed'], 0, MAX_FAILED - 1);
  return jobs.map((job) => ({
    id: job.id!,
    name: job.name,
    row: job.data?.id ?? null,
    attempts: job.attemptsMade,
    error: redactTokens(job.failedReason ?? '').slice(0, MAX_TEXT),
    at: new Date(job.finishedOn ?? job.timestamp).toISOString(),
  }));
}

/** Retries or removes an entry that failed. @throws ApiError NOT_FOUND, or CONFLICT if the entry is no longer among the failed ones */
export async function changeFailedEntry(
  host: QueueSources,
  list: ProcessList,
  { name, id }: { name: string; id: string },
  change: (job: Job) => Promise<unknown>,
): Promise<void> {
  const job = await findQueue(host, list, name).getJob(id);
  if (job === undefined) throw new ApiError('NOT_FOUND');
  if (!(await job.isFailed())) throw new ApiError('CONFLICT', 'This entry is no longer among the failed ones');
  await change(job);
}
