import { createSemaphore } from '../../../platform/semaphore.ts';

/**
 * Bounds work by origin: at most `size` at once for each, so that a push service that is slow holds up no other.
 *
 * @returns runs a task when its origin has a place for it
 */
export function createLanes(size: number): <T>(origin: string, task: () => Promise<T>) => Promise<T> {
  const lanes = new Map<string, { semaphore: ReturnType<typeof createSemaphore>; tasks: number }>();
  return async (origin, task) => {
    const lane = lanes.get(origin) ?? { semaphore: createSemaphore(size), tasks: 0 };
    lanes.set(origin, lane);
    lane.tasks += 1;
    try {
      return await lane.semaphore.run(task);
    } finally {
      lane.tasks -= 1;
      if (lane.tasks === 0) lanes.delete(origin);
    }
  };
}
