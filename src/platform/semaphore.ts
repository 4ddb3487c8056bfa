/** Runs at most a fixed number of tasks at once; the others wait in the order in which they came. */
interface Semaphore {
  /**
   * Runs `task` as soon as a place is free and gives what it gives.
   * Rejects with an error of code `SEMAPHORE_FULL`, without running it, when the queue is at its bound.
   */
  run<T>(task: () => T | Promise<T>): Promise<T>;
}

class SemaphoreFullError extends Error {
  override readonly name = 'SemaphoreFullError';
  readonly code = 'SEMAPHORE_FULL';
}

/** Whether a task was not run because too many are waiting already. */
export function isSemaphoreFull(error: unknown): boolean {
  return error instanceof SemaphoreFullError;
}

/**
 * Makes a first-in, first-out semaphore.
 *
 * @param size how many tasks may run at once, 1 or more
 * @param options `maxQueue`: how many may wait; without it, any number
 * @throws RangeError when `size` is not a positive integer
 */
export function createSemaphore(size: number, { maxQueue = Number.POSITIVE_INFINITY } = {}): Semaphore {
  if (!Number.isInteger(size) || size < 1) throw new RangeError(`A semaphore's size must be 1 or more, not ${size}`);
  // A Set keeps the order of insertion and drops its first element in constant time, an array does not.
  const waiting = new Set<() => void>();
  let running = 0;

  return {
    async run(task) {
      if (running >= size) {
        if (waiting.size >= maxQueue) throw new SemaphoreFullError(`More than ${maxQueue} tasks are waiting`);
        // The place passes from hand to hand, so a newcomer cannot overtake those who wait.
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
