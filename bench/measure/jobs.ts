/** Jobs in progress at once, and enqueues in progress at once. */
export const JOB_CONCURRENCY = 50;

/** What a process that is measured does. */
export interface JobCalls {
  /** Enqueues this many jobs. Returns the ms that it took. */
  enqueue(count: number): Promise<number>;
  /** Starts a worker and runs the jobs that were enqueued. Returns the ms that it took. */
  run(count: number): Promise<number>;
}

/** Runs a task this many times, 50 at once. */
export async function runConcurrently(count: number, task: () => Promise<unknown>): Promise<void> {
  let started = 0;
  const runTasks = async () => {
    while (started++ < count) await task();
  };
  await Promise.all(Array.from({ length: JOB_CONCURRENCY }, runTasks));
}
