/** Runs tasks one at a time, in the order in which they were added. A failed task does not affect the others. */
type SerialQueue = <T>(task: () => Promise<T>) => Promise<T>;

/** Runs the tasks of each key one at a time, in the order in which they were added. */
export type KeyedQueue = <T>(key: string, task: () => Promise<T>) => Promise<T>;

// A project's hook may wait for the queue in which it runs, for example when it changes its own record: this limit ends that wait.
const MAX_HOLD_MS = 5000;

/**
 * Creates a serial queue.
 *
 * @param maxHoldMs the next task starts after this time even if the previous one is still running; default: never
 */
export function createSerialQueue(maxHoldMs?: number): SerialQueue {
  let last: Promise<void> = Promise.resolve();
  return async (task) => {
    const before = last;
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    last = released;
    await before;
    const limit = maxHoldMs === undefined ? undefined : setTimeout(release, maxHoldMs);
    try {
      return await task();
    } finally {
      clearTimeout(limit);
      release();
    }
  };
}

/** Creates a serial queue for each key, in this process only. A task delays the next one of its key for at most 5 seconds. */
export function createKeyedQueue(): KeyedQueue {
  const queues = new Map<string, { run: SerialQueue; tasks: number }>();
  return async (key, task) => {
    const queue = queues.get(key) ?? { run: createSerialQueue(MAX_HOLD_MS), tasks: 0 };
    queues.set(key, queue);
    queue.tasks += 1;
    try {
      return await queue.run(task);
    } finally {
      queue.tasks -= 1;
      if (queue.tasks === 0) queues.delete(key);
    }
  };
}
