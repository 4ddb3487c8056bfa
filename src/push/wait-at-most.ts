import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for something, but at most `ms`. Its failure is the caller's only while it is waited for. */
export async function waitAtMost(ms: number, done: Promise<unknown>): Promise<void> {
  const stop = new AbortController();
  const late = sleep(Math.max(ms, 0), undefined, { signal: stop.signal }).catch(() => undefined);
  try {
    await Promise.race([done, late]);
  } finally {
    stop.abort();
  }
}
