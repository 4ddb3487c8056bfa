import { setTimeout as sleep } from 'node:timers/promises';

/** The pauses between attempts that fail one after the other. */
export interface Backoff {
  /** Waits before the next attempt: each time twice as long, up to a limit. Returns at once when `signal` is aborted. */
  wait(signal?: AbortSignal): Promise<void>;
  /** Call after a success: the next failure begins with the shortest pause. */
  reset(): void;
}

/** Creates the pauses of one loop, each shortened by up to half at random, so that processes do not retry together. */
export function createBackoff(firstMs: number, longestMs: number): Backoff {
  let failures = 0;
  return {
    async wait(signal) {
      const pause = Math.min(firstMs * 2 ** failures, longestMs);
      failures = Math.min(failures + 1, 30);
      await sleep(pause * (1 - Math.random() / 2), undefined, signal && { signal }).catch(() => undefined);
    },
    reset() {
      failures = 0;
    },
  };
}
