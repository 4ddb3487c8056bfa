import { setTimeout as sleep } from 'node:timers/promises';

/** How long tests wait for background work by default, in ms. */
const DEFAULT_TIMEOUT_MS = 10_000;
const POLL_MS = 25;

/** Options of a wait. */
export interface WaitOptions {
  /** The ms after which the wait fails. Default: 10,000. */
  timeoutMs?: number;
}

/**
 * Waits until `find` returns a value.
 *
 * @param explain returns the message of the error if there is none in time
 */
export async function waitFor<T>(
  find: () => Promise<T | undefined> | T | undefined,
  explain: (timeoutMs: number) => Promise<string> | string,
  { timeoutMs = DEFAULT_TIMEOUT_MS }: WaitOptions = {},
): Promise<T> {
  // performance.now(), because a test may set the clock meanwhile.
  for (const end = performance.now() + timeoutMs; ; await sleep(POLL_MS)) {
    const found = await find();
    if (found !== undefined) return found;
    if (performance.now() >= end) throw new Error(await explain(timeoutMs));
  }
}
