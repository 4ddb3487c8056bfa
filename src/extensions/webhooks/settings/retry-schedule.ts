import { addJitter, DAY_MS, getScheduledWait, parseDuration } from '../../../extension/index.ts';

const LONGEST_WAIT_MS = 365 * DAY_MS;
/** A `Retry-After` up to this length is respected even if every wait of the schedule is shorter. */
const RETRY_AFTER_MS = DAY_MS;

/** The waits between the attempts of a delivery in milliseconds: 5 s, 30 s, 2 min, 10 min, 30 min, 2 h, 6 h. */
export const DEFAULT_RETRY_SCHEDULE: readonly number[] = [
  5_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000, 21_600_000,
];

/**
 * Reads the `retrySchedule` setting.
 *
 * @param list waits as milliseconds or as text with a unit: `'500ms'`, `'30s'`, `'5m'`, `'2h'`, `'1d'`. Empty: never retry
 * @returns the waits in milliseconds
 * @throws Error that lists every entry that is not a wait of 0 to 365 days
 */
export function parseSchedule(list: readonly (number | string)[]): number[] {
  const waits = list.map(parseWaitMs);
  const invalid = list.filter((_, index) => waits[index] === null).map((entry) => JSON.stringify(entry));
  if (invalid.length > 0) {
    throw new Error(
      `retrySchedule: ${invalid.join(', ')} is not a valid wait. Use milliseconds or '30s', '5m', '2h', '1d', up to 365 days`,
    );
  }
  return waits.filter((wait) => wait !== null);
}

/** Reads a duration: milliseconds, or text with a unit such as `'30s'`. Returns whole ms up to 365 days; null if it is not valid. */
export function parseWaitMs(entry: unknown): number | null {
  const wait = typeof entry === 'string' ? parseDuration(entry) : entry;
  return typeof wait === 'number' && Number.isInteger(wait) && wait >= 0 && wait <= LONGEST_WAIT_MS ? wait : null;
}

/**
 * Returns how long to wait before the next attempt of a delivery.
 *
 * @param plan `schedule`: the waits in ms; `attempt`: the number of attempts since the schedule began, including the failed one,
 *   at least 1; `retryAfterMs`: the wait that the receiver asked for; `random`: returns [0, 1), for tests
 * @returns whole milliseconds: the schedule's wait ±20%, but at least the wait that the receiver asked for, which is respected up to
 *   24 hours or the schedule's longest wait, whichever is longer; null if the schedule is used up
 * @throws RangeError if `attempt` is not a positive integer
 */
export function computeAttemptDelay({
  schedule,
  attempt,
  retryAfterMs,
  random = Math.random,
}: {
  schedule: readonly number[];
  attempt: number;
  retryAfterMs?: number | null;
  random?: () => number;
}): number | null {
  const wait = getScheduledWait(schedule, attempt);
  if (wait === undefined) return null;
  return Math.max(addJitter(wait, random()), Math.min(retryAfterMs ?? 0, Math.max(RETRY_AFTER_MS, ...schedule)));
}
