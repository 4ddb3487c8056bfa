/** Settings of the audit trail. */
export interface AuditOptions {
  /** Days for which a row is kept, and can neither be changed nor removed. Default 365. */
  keepDays?: number;
}

/** The default of `keepDays`. */
export const KEEP_DAYS = 365;

const LONGEST_DAYS = 36_500;

/** What is wrong with the setting, a line each. */
export function keepDaysMistakes(keepDays: unknown): string[] {
  if (Number.isInteger(keepDays) && (keepDays as number) >= 1 && (keepDays as number) <= LONGEST_DAYS) return [];
  return [`audit.keepDays: must be a whole number of days from 1 to ${LONGEST_DAYS}`];
}
