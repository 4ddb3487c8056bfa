import { ApiError } from '../../platform/errors.ts';
import type { TwoFactorSettings } from './settings.ts';

const MINUTE_MS = 60_000;
const LONGEST_MS = 24 * 60 * MINUTE_MS;

/**
 * For how long a wrong code locks, in ms; 0 when it does not. Codes are short: with locks that grow, who knows a password is left
 * with some 2000 guesses a year, and each has a chance of 3 in a million.
 *
 * @param failures wrong codes in a row, with this one
 */
export function lockMs(failures: number, { maxAttempts, lockMinutes }: TwoFactorSettings['lockout']): number {
  if (failures % maxAttempts !== 0) return 0;
  return Math.min(lockMinutes * MINUTE_MS * 2 ** (failures / maxAttempts - 1), LONGEST_MS);
}

/** The 429 of a lock that lasts for so many ms more. */
export function lockedOut(leftMs: number): ApiError {
  const minutes = Math.ceil(leftMs / MINUTE_MS);
  const text = `Too many wrong codes, try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
  return new ApiError('RATE_LIMITED', text, { retryAfter: Math.max(1, Math.ceil(leftMs / 1000)) });
}
