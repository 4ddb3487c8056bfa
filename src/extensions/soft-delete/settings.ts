/** Settings of soft delete. */
export interface SoftDeleteOptions {
  /** Days for which a deleted record is kept. Default 30. */
  keepDays?: number;
}

const LONGEST_DAYS = 3650;

/** What is wrong with the setting, a line each. */
export function keepDaysMistakes(keepDays: unknown): string[] {
  if (Number.isInteger(keepDays) && (keepDays as number) >= 1 && (keepDays as number) <= LONGEST_DAYS) return [];
  return [`softDelete.keepDays: must be a whole number of days from 1 to ${LONGEST_DAYS}`];
}
