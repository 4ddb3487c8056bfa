import type { Request } from 'express';
import type { Host } from '../../declare/host.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import { type Lockout, lockedError, signInLockoutName } from '../lockout/lockout.ts';

interface AttemptDependencies {
  host: Host;
  lockout: Lockout;
}

/** A sign-in with an e-mail address, whether or not it has an account. */
interface SignInAttempt {
  email: string;
  request: Request;
}

/** Why a sign-in with the right credential failed. */
type FailureReason = 'user_disabled' | 'password_changed';

/** The 401 of a login with an unknown e-mail or a wrong password. */
export function wrongCredentialsError(): ApiError {
  return new ApiError('UNAUTHORIZED', 'Invalid email or password');
}

/** Emits `security.login_failed`. `reason` is set when the credential was right. */
export function emitLoginFailed(
  { host }: Pick<AttemptDependencies, 'host'>,
  { email, request }: SignInAttempt,
  reason?: FailureReason,
): void {
  host.events.emit('security.login_failed', { email, ip: addressOf(request), ...(reason && { reason }) });
}

/**
 * Runs a sign-in attempt under the lockout of its address, and emits the events of failed attempts.
 *
 * @param check returns undefined if the credential is wrong, which counts as a failed attempt; an attempt that throws does not count
 * @param options `completes`: whether the result clears the failed attempts; default: yes. `wrong`: creates the error of a wrong credential
 * @throws ApiError RATE_LIMITED while the address is locked
 */
export async function runSignInAttempt<T>(
  accounts: AttemptDependencies,
  attempt: SignInAttempt,
  check: () => Promise<T | undefined>,
  {
    completes,
    wrong = wrongCredentialsError,
  }: { completes?: ((value: T) => boolean) | undefined; wrong?: () => ApiError } = {},
): Promise<T> {
  const { events, settings } = accounts.host;
  const outcome = await accounts.lockout.runAttempt(signInLockoutName(attempt.email), check, completes);
  const payload = { email: attempt.email, ip: addressOf(attempt.request) };
  if (outcome.kind === 'locked') {
    events.emit('security.locked_login_attempt', payload);
    throw lockedError('Too many failed sign-ins', outcome.leftMs, settings);
  }
  if (outcome.kind === 'failed') {
    emitLoginFailed(accounts, attempt);
    if (outcome.lockedUntil !== undefined)
      events.emit('security.account_locked', { ...payload, lockedUntil: outcome.lockedUntil });
    throw wrong();
  }
  return outcome.value;
}

/**
 * Checks a secret of a signed-in user, such as a code. Wrong secrets are counted for the user and apart from sign-ins.
 *
 * @throws ApiError from `wrong`; RATE_LIMITED after too many wrong secrets
 */
export async function checkSecretOfCaller<T>(
  { host, lockout }: AttemptDependencies,
  userId: string,
  check: () => Promise<T | undefined>,
  wrong: () => ApiError,
): Promise<T> {
  const outcome = await lockout.runAttempt(`code:${userId}`, check);
  if (outcome.kind === 'locked') throw lockedError('Too many wrong codes', outcome.leftMs, host.settings);
  if (outcome.kind === 'failed') throw wrong();
  return outcome.value;
}
