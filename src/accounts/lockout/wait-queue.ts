import { createSemaphore } from '../../platform/helpers/concurrency/semaphore.ts';

/** ms before the next try without a wake-up: attempts that end in other processes do not wake this process. */
const POLL_MS = 100;

/** Maximum number of waiting attempts per key in this process; further attempts are refused. */
const MAX_WAITING = 1000;

/** A wait queue for each key: first come, first served. Only the first caller in a queue polls. */
interface WaitQueues {
  /**
   * Waits until the caller is first in the queue of the key, then calls `attempt` until the result is not `wait`, and returns that result.
   *
   * @throws whatever `attempt` throws; `SEMAPHORE_FULL` if too many callers wait under this key
   */
  retryInOrder<T>(key: string, attempt: () => Promise<T | 'wait'>): Promise<T>;
  /** Makes the first caller in the queue of a key try again at once. */
  wake(key: string): void;
}

interface WaitQueue {
  semaphore: ReturnType<typeof createSemaphore>;
  /** Number of callers in the queue, including the caller whose attempt is running. */
  size: number;
  wake: () => void;
}

export function createWaitQueues(): WaitQueues {
  const queues = new Map<string, WaitQueue>();

  /** Starts waiting for the next wake-up of a queue, at most `POLL_MS`. `forget` ends the wait. */
  function listenForWakeUp(queue: WaitQueue): { happens: Promise<void>; forget(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, POLL_MS);
    queue.wake = resolve;
    return { happens: promise, forget: () => clearTimeout(timer) };
  }

  function getOrCreateQueue(key: string): WaitQueue {
    const queue = queues.get(key) ?? {
      semaphore: createSemaphore(1, { maxQueue: MAX_WAITING }),
      size: 0,
      wake: () => undefined,
    };
    queues.set(key, queue);
    return queue;
  }

  return {
    async retryInOrder<T>(key: string, attempt: () => Promise<T | 'wait'>) {
      const queue = getOrCreateQueue(key);
      queue.size += 1;
      try {
        return await queue.semaphore.run(async () => {
          for (;;) {
            // Listen before the attempt, so that a wake-up during the attempt is not lost.
            const next = listenForWakeUp(queue);
            try {
              const result = await attempt();
              if (result !== 'wait') return result;
              await next.happens;
            } finally {
              next.forget();
            }
          }
        });
      } finally {
        queue.size -= 1;
        if (queue.size === 0) queues.delete(key);
      }
    },
    wake: (key) => queues.get(key)?.wake(),
  };
}
