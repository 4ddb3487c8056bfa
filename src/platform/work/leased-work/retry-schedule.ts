/** The fraction by which jitter lengthens or shortens a wait, so that work that failed together is not retried together. */
const JITTER = 0.2;

/**
 * Returns the wait before the next attempt, in the unit of the schedule.
 *
 * @param attempt the number of the failed attempt, 1 or more
 * @returns undefined if the schedule is exhausted
 * @throws RangeError if `attempt` is not a positive integer
 */
export function getScheduledWait(schedule: readonly number[], attempt: number): number | undefined {
  if (!Number.isInteger(attempt) || attempt < 1) throw new RangeError(`attempt must be 1 or more, not ${attempt}`);
  return schedule[attempt - 1];
}

/**
 * Returns a wait with jitter in whole ms: up to a fifth shorter or longer, also after rounding.
 *
 * @param random from 0 to 1
 */
export function addJitter(waitMs: number, random: number = Math.random()): number {
  const jittered = Math.round(waitMs * (1 + JITTER * (2 * random - 1)));
  return Math.min(Math.max(jittered, Math.ceil(waitMs * (1 - JITTER))), Math.floor(waitMs * (1 + JITTER)));
}

/** Adds jitter to a wait that must not be shortened, such as one that a provider requests: up to a fifth longer. */
export function addPositiveJitter(waitMs: number, random: number = Math.random()): number {
  return Math.round(waitMs * (1 + JITTER * random));
}

/**
 * Returns the wait after a failed attempt that doubles with each attempt, without jitter.
 *
 * @param attempt the number of the failed attempt, 1 or more
 */
export function getExponentialWait(attempt: number, { first, max }: { first: number; max: number }): number {
  return Math.min(max, first * 2 ** (attempt - 1));
}
