import type { NewJob } from '../platform/queues.ts';

/** The queue of push sends. */
export const PUSH_QUEUE = 'push';

/** What a job of the queue returns when its push is finished. Whoever waits for that push wakes by it. */
export const FINISHED = 'finished';

const JOB_ID = /^push_([0-9a-f]{24})_(\d+)$/;

/** A chunk of a push. */
export interface ChunkKey {
  pushId: string;
  chunk: number;
}

/** The job of a chunk. Its id is the chunk's, so that a chunk has one live job at most. */
export function chunkJob({ pushId, chunk }: ChunkKey): NewJob {
  const id = `push_${pushId}_${chunk}`;
  return { name: 'send', data: { id }, opts: { jobId: id } };
}

/** The chunk that a job points at, or undefined for the id of something else. */
export function chunkOf(jobId: string): ChunkKey | undefined {
  const [, pushId, chunk] = JOB_ID.exec(jobId) ?? [];
  return pushId === undefined ? undefined : { pushId, chunk: Number(chunk) };
}
