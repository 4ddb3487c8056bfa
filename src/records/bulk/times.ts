import { NOT_A_DATE, parseFileDate } from '../fields/types/date.ts';

const NAMES = ['createdAt', 'updatedAt'] as const;

/** A time of a record that an import can keep. */
export type TimeName = (typeof NAMES)[number];

/** The times of a row, as ISO strings. */
export type ImportedTimes = Record<TimeName, string>;

/** Whether an import can keep the time with this name. */
export function isTimeName(name: unknown): name is TimeName {
  return NAMES.some((one) => one === name);
}

/**
 * Parses the times of a row. A row with only one of them has this time as both. Adds messages to the errors of the row.
 *
 * @returns undefined if the row has no times, or if they are invalid
 */
export function parseTimes(
  given: Partial<Record<TimeName, unknown>>,
  errors: Record<string, string>,
): ImportedTimes | undefined {
  const now = new Date().toISOString();
  const parsed: Partial<ImportedTimes> = {};
  for (const name of NAMES) {
    const value = given[name];
    if (value === undefined || value === null || value === '') continue;
    const time = typeof value === 'string' || typeof value === 'number' ? parseFileDate(value) : undefined;
    if (time === undefined) errors[name] = NOT_A_DATE;
    else if (time > now) errors[name] = 'Must not be in the future';
    else parsed[name] = time;
  }
  const { createdAt = parsed.updatedAt, updatedAt = createdAt } = parsed;
  if (createdAt === undefined || updatedAt === undefined) return undefined;
  if (updatedAt < createdAt) errors.updatedAt = 'Must not be before createdAt';
  return { createdAt, updatedAt };
}
