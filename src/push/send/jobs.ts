import type { NewJob, Queues } from '../../platform/work/queues/queues.ts';

/** The name of the job queue for chunks without an installed transport. */
export const PUSH_QUEUE = 'push';

/** The name of the job queue for pushes whose audience is not fully looked up. */
export const AUDIENCE_QUEUE = 'push-audiences';

const TRANSPORT_PREFIX = 'push.';

/** The priority of jobs of large audiences. BullMQ runs jobs without a priority first, so they do not delay small pushes. */
const BULK_PRIORITY = 1;

const CHUNK_JOB_ID = /^push_([0-9a-f]{24})_(\d+)_(\d+)/;
const AUDIENCE_JOB_ID = /^push_([0-9a-f]{24})_audience$/;

/** Identifies a chunk of the devices of a push. */
export interface ChunkKey {
  pushId: string;
  chunk: number;
}

/** A chunk of the devices of a push, to be enqueued as one job. */
export interface ChunkToSend extends ChunkKey {
  transport: string | null;
  /** Maximum number of devices of the chunk. */
  size: number;
  bulk: boolean;
  /** The `traceparent` that a retry continues. Default: the active span's. */
  trace?: string | undefined;
}

/** Returns the name of a transport's job queue. Each installed transport has its own: a hanging transport does not delay others. */
export function queueOfTransport(transport: string | null, installed: ReadonlySet<string>): string {
  // BullMQ does not allow colons in queue names.
  return transport === null || !installed.has(transport)
    ? PUSH_QUEUE
    : TRANSPORT_PREFIX + encodeURIComponent(transport);
}

/** Whether a queue has entries of pushes. */
export const isPushQueue = (name: string): boolean =>
  name === PUSH_QUEUE || name === AUDIENCE_QUEUE || name.startsWith(TRANSPORT_PREFIX);

/**
 * Builds the job of a chunk. The job id is derived from the chunk, so a chunk has at most one live job.
 *
 * @param retry for a retry of some devices: the attempt number and the delay in ms; the job is added while the previous job runs
 */
function createChunkJob(
  { pushId, chunk, size, bulk, trace }: ChunkToSend,
  retry?: { attempt: number; delay: number },
): NewJob {
  const id = `push_${pushId}_${chunk}_${size}${retry === undefined ? '' : `_${retry.attempt}`}`;
  return {
    name: 'send',
    data: { id, ...(trace === undefined ? {} : { trace }) },
    opts: {
      jobId: id,
      ...(bulk ? { priority: BULK_PRIORITY } : {}),
      ...(retry === undefined ? {} : { delay: retry.delay }),
    },
  };
}

/** Adds the jobs of chunks. Does not fail while Redis is down: the sweep finds chunks without a job. */
export async function enqueueChunks(
  queues: Queues,
  installed: ReadonlySet<string>,
  chunks: readonly (ChunkToSend & { retry?: { attempt: number; delay: number } })[],
): Promise<void> {
  const byQueue = Map.groupBy(chunks, ({ transport }) => queueOfTransport(transport, installed));
  const adding = [...byQueue].map(([queue, own]) =>
    queues.add(
      queue,
      own.map((one) => createChunkJob(one, one.retry)),
    ),
  );
  await Promise.all(adding);
}

/** Creates the job that looks up the devices of a push after its first page. */
export function createAudienceJob(pushId: string): NewJob {
  const id = `push_${pushId}_audience`;
  return { name: 'audience', data: { id }, opts: { jobId: id } };
}

/** Parses the id of a chunk job; undefined for any other job id. */
export function parseChunkJobId(jobId: string): (ChunkKey & { size: number }) | undefined {
  const [, pushId, chunk, size] = CHUNK_JOB_ID.exec(jobId) ?? [];
  return pushId === undefined ? undefined : { pushId, chunk: Number(chunk), size: Number(size) };
}

/** Parses the id of an audience job; undefined for any other job id. */
export function parseAudienceJobId(jobId: string): string | undefined {
  return AUDIENCE_JOB_ID.exec(jobId)?.[1];
}
