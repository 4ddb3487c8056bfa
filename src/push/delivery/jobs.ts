import type { NewJob, Queues } from '../../platform/queues.ts';

/** The queue of chunks that no installed transport sends. */
export const PUSH_QUEUE = 'push';

/** The queue of audiences to look up. */
export const AUDIENCE_QUEUE = 'push-audiences';

/** A priority of BullMQ: jobs without one go first, so that a large audience does not hold up small pushes. */
const BULK = 1;

const CHUNK_ID = /^push_([0-9a-f]{24})_(\d+)_(\d+)/;
const AUDIENCE_ID = /^push_([0-9a-f]{24})_audience$/;

/** A chunk of a push. */
export interface ChunkKey {
  pushId: string;
  chunk: number;
}

/** A chunk that is to be sent. */
export interface ChunkToSend extends ChunkKey {
  transport: string | null;
  /** Its devices at most. */
  size: number;
  bulk: boolean;
}

/** Of each installed transport its own queue, so that one that hangs holds up no other. */
export function queueOf(transport: string | null, installed: ReadonlySet<string>): string {
  // BullMQ allows no colon in a queue's name.
  return transport === null || !installed.has(transport) ? PUSH_QUEUE : `push.${encodeURIComponent(transport)}`;
}

/**
 * The job of a chunk. Its id is the chunk's, so that a chunk has one live job at most.
 *
 * @param again a further try of some of its devices: which one, and in how many ms. Its job is made while the one before runs.
 */
function chunkJob({ pushId, chunk, size, bulk }: ChunkToSend, again?: { attempt: number; delay: number }): NewJob {
  const id = `push_${pushId}_${chunk}_${size}${again === undefined ? '' : `_${again.attempt}`}`;
  return {
    name: 'send',
    data: { id },
    opts: { jobId: id, ...(bulk ? { priority: BULK } : {}), ...(again === undefined ? {} : { delay: again.delay }) },
  };
}

/** Adds the jobs of chunks. Like every add it does not fail: the sweep finds chunks without a job. */
export async function addChunks(
  queues: Queues,
  installed: ReadonlySet<string>,
  chunks: readonly (ChunkToSend & { again?: { attempt: number; delay: number } })[],
): Promise<void> {
  const byQueue = Map.groupBy(chunks, ({ transport }) => queueOf(transport, installed));
  const adding = [...byQueue].map(([queue, own]) =>
    queues.add(
      queue,
      own.map((one) => chunkJob(one, one.again)),
    ),
  );
  await Promise.all(adding);
}

/** The job that looks up the rest of a push's audience. */
export function audienceJob(pushId: string): NewJob {
  const id = `push_${pushId}_audience`;
  return { name: 'audience', data: { id }, opts: { jobId: id } };
}

/** The chunk that a job points at and its size, or undefined for the id of something else. */
export function chunkOf(jobId: string): (ChunkKey & { size: number }) | undefined {
  const [, pushId, chunk, size] = CHUNK_ID.exec(jobId) ?? [];
  return pushId === undefined ? undefined : { pushId, chunk: Number(chunk), size: Number(size) };
}

/** The push whose audience a job points at. */
export function audienceOf(jobId: string): string | undefined {
  return AUDIENCE_ID.exec(jobId)?.[1];
}
