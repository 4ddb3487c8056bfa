import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** Above this share of time, the event loop has no time for more requests. */
const MAX_LOOP_SHARE = 0.97;
/** Above this share of the heap, more requests would risk an out-of-memory error. */
const MAX_HEAP_SHARE = 0.8;
/** ms between two measurements. */
const MEASURE_EVERY_MS = 250;

/** How busy a process is: shares between 0 and 1. */
export interface ProcessLoad {
  loop: number;
  heap: number;
}

/** Whether a process under this load can cope with more concurrent requests. */
export function canTakeMore({ loop, heap }: ProcessLoad): boolean {
  return loop <= MAX_LOOP_SHARE && heap <= MAX_HEAP_SHARE;
}

/** Creates a function that returns whether this process can cope with more concurrent requests. Measures only when it is called. */
export function createLoadCheck(): () => boolean {
  let before: EventLoopUtilization = performance.eventLoopUtilization();
  let measuredAt = performance.now();
  let result = true;
  return () => {
    if (performance.now() - measuredAt < MEASURE_EVERY_MS) return result;
    const now = performance.eventLoopUtilization();
    const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
    result = canTakeMore({ loop: performance.eventLoopUtilization(now, before).utilization, heap: used / limit });
    before = now;
    measuredAt = performance.now();
    return result;
  };
}
