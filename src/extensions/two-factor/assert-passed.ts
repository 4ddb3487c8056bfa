import type { Request } from 'express';
import type { ApiError } from '../../platform/errors.ts';
import type { Events } from '../../platform/events.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import type { Attempt } from './attempt.ts';
import { lockedOut } from './lock.ts';

/** What is wrong with a code, for its sender. Whether it was right before is not told. */
export const WRONG_CODE = 'Must be a current code that has not been used';

/**
 * Tells listeners how an attempt ended, once it is committed.
 *
 * @param wrong makes the error of a wrong code
 * @throws ApiError what `wrong` gives; RATE_LIMITED while codes are locked
 */
export function assertPassed(
  events: Events,
  req: Request,
  attempt: Attempt,
  wrong: () => ApiError,
): asserts attempt is Extract<Attempt, { kind: 'passed' }> {
  const { userId, method } = attempt;
  const who = { userId, ip: addressOf(req) };
  if (attempt.kind === 'locked') {
    events.emit('security.two_factor_failed', { ...who, method, reason: 'locked' });
    throw lockedOut(attempt.leftMs);
  }
  if (attempt.kind === 'failed') {
    const { lockedUntil } = attempt;
    events.emit('security.two_factor_failed', { ...who, method, reason: 'wrong' });
    if (lockedUntil !== undefined) events.emit('security.two_factor_locked', { ...who, lockedUntil });
    throw wrong();
  }
  if (method === 'recovery') {
    events.emit('security.recovery_code_used', { ...who, remaining: attempt.recoveryCodesLeft });
  }
}
