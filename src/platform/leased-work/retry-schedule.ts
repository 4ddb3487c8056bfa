/** The share of a wait by which jitter makes it longer or shorter, so that what failed together does not come back together. */
const JITTER = 0.2;

/**
 * The wait of a schedule after a failed attempt.
 *
 * @param attempt the number of the failed attempt, 1 or more
 * @returns undefined when the schedule is used up
 * @throws RangeError when `attempt` is no positive integer
 */
export function scheduledWait(schedule: readonly number[], attempt: number): number | undefined {
  if (!Number.isInteger(attempt) || attempt < 1) throw new RangeError(`attempt counts from 1, not ${attempt}`);
  return schedule[attempt - 1];
}

/**
 * A wait with jitter: up to a fifth shorter or longer.
 *
 * @param random from 0 to 1
 */
export function withJitter(waitMs: number, random: number = Math.random()): number {
  return Math.round(waitMs * (1 + JITTER * (2 * random - 1)));
}

/** A wait that must not be shortened, as one that a provider asks for, with jitter: up to a fifth longer. */
export function withLaterJitter(waitMs: number, random: number = Math.random()): number {
  return Math.round(waitMs * (1 + JITTER * random));
}
