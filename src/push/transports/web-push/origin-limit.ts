import { createSemaphore } from '../../../platform/semaphore.ts';

/**
 * Bounds work by origin: at most `size` at once for each, so that a push service that is slow holds up no other.
 *
 * @returns runs a task when its origin has a place for it
 */
export function createOriginLimit(size: number): <T>(origin: string, task: () => Promise<T>) => Promise<T> {
  const origins = new Map<string, { semaphore: ReturnType<typeof createSemaphore>; tasks: number }>();
  return async (origin, task) => {
    const own = origins.get(origin) ?? { semaphore: createSemaphore(size), tasks: 0 };
    origins.set(origin, own);
    own.tasks += 1;
    try {
      return await own.semaphore.run(task);
    } finally {
      own.tasks -= 1;
      if (own.tasks === 0) origins.delete(origin);
    }
  };
}
