import { type ApiError, invalidSession, validationError } from '../platform/errors.ts';
import type { AccountsContext } from './context.ts';
import { lockedOut } from './lockout.ts';

/** The 422 of a password that is not the user's. */
export function wrongPassword(field: string): ApiError {
  return validationError({ [field]: 'Must be your current password' });
}

/**
 * Makes sure that the signed-in user knows the password. The thief of a session must not find it by trying: wrong ones
 * are counted like failed sign-ins, but apart from them, so that a thief cannot keep the user from signing in either.
 *
 * @param field of the body, for the error
 * @returns the hash that the password was checked against
 * @throws ApiError VALIDATION_ERROR naming the field; RATE_LIMITED after too many; UNAUTHORIZED when the user has been deleted
 */
export async function confirmPassword(
  { host, users, hasher, lockout }: Pick<AccountsContext, 'host' | 'users' | 'hasher' | 'lockout'>,
  userId: string,
  password: string,
  field: string,
): Promise<string> {
  const outcome = await lockout.attempt(`password:${userId}`, async () => {
    const hash = await users.passwordHashOf(userId);
    if (hash === undefined) throw invalidSession();
    return (await hasher.verify(password, hash)) ? hash : undefined;
  });
  if (outcome.kind === 'locked') throw lockedOut('Too many wrong passwords', outcome.leftMs, host.settings);
  if (outcome.kind === 'failed') throw wrongPassword(field);
  return outcome.value;
}
