/** Runs at most a fixed number of tasks at once; further tasks wait in the order in which they were added. */
interface Semaphore {
  /**
   * Runs `task` as soon as a slot is free and returns its result.
   * If the wait queue is full, rejects with an error of code `SEMAPHORE_FULL` without running the task.
   */
  run<T>(task: () => T | Promise<T>): Promise<T>;
}

class SemaphoreFullError extends Error {
  override readonly name = 'SemaphoreFullError';
  readonly code = 'SEMAPHORE_FULL';
}

/** Whether the error says that a task was not run because the wait queue was full. */
export function isSemaphoreFull(error: unknown): boolean {
  return error instanceof SemaphoreFullError;
}

/**
 * Creates a first-in, first-out semaphore.
 *
 * @param size how many tasks may run at once, 1 or more
 * @param options `maxQueue`: how many tasks may wait; default: any number
 * @throws RangeError if `size` is not a positive integer
 */
export function createSemaphore(size: number, { maxQueue = Number.POSITIVE_INFINITY } = {}): Semaphore {
  if (!Number.isInteger(size) || size < 1) throw new RangeError(`A semaphore's size must be 1 or more, not ${size}`);
  // Unlike an array, a Set removes its first element in constant time; it also keeps insertion order.
  const waiting = new Set<() => void>();
  let running = 0;

  return {
    async run(task) {
      if (running >= size) {
        if (waiting.size >= maxQueue) throw new SemaphoreFullError(`More than ${maxQueue} tasks are waiting`);
        // A finished task hands its slot directly to the next waiting task, so a new task cannot overtake it.
        await new Promise<void>((resolve) => waiting.add(resolve));
      } else {
        running += 1;
      }
      try {
        return await task();
      } finally {
        const next = waiting.values().next().value;
        if (next) {
          waiting.delete(next);
          next();
        } else {
          running -= 1;
        }
      }
    },
  };
}
