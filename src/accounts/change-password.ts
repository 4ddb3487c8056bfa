import { z } from 'zod';
import type { Accounts } from '../declare/accounts.ts';
import type { RouteContext } from '../declare/route.ts';
import { type ApiError, invalidSessionError, validationError } from '../platform/helpers/errors.ts';
import { addressOf } from '../platform/http/client-address.ts';
import type { AccountsDependencies } from './context.ts';
import { lockedError } from './lockout/lockout.ts';
import { isPasswordHash } from './passwords/password-hash.ts';
import { namePasswordIfNothingIsSent, passwordToCheck } from './passwords/password-input.ts';
import { checkNewPassword } from './passwords/password-rules.ts';

type ConfirmContext = Pick<AccountsDependencies, 'host' | 'users' | 'hasher' | 'lockout'>;

/** The 422 response to a password that is not the user's current one, under the name of its field in the body. */
function wrongPasswordError(field: string): ApiError {
  return validationError({ [field]: 'Must be your current password' });
}

/**
 * Checks that the signed-in user knows their password. Wrong passwords are limited, so that the thief of a session cannot guess it.
 * They are counted separately from failed sign-ins, so that the thief cannot lock the user out either.
 *
 * @param field the field of the body that the error names
 * @returns the hash that the password was checked against
 * @throws ApiError VALIDATION_ERROR naming the field; RATE_LIMITED after too many; UNAUTHORIZED if the user has been deleted
 */
export async function confirmPassword(
  { host, users, hasher, lockout }: ConfirmContext,
  userId: string,
  password: string,
  field: string,
): Promise<string> {
  const outcome = await lockout.runAttempt(`password:${userId}`, async () => {
    const hash = await users.findPasswordHash(userId);
    if (hash === undefined) throw invalidSessionError();
    return (await hasher.verify(password, hash)) ? hash : undefined;
  });
  if (outcome.kind === 'locked') throw lockedError('Too many wrong passwords', outcome.leftMs, host.settings);
  if (outcome.kind === 'failed') throw wrongPasswordError(field);
  return outcome.value;
}

/**
 * Confirms that the caller is the user, by the user's password, or by a recent sign-in if the user has none. See `Accounts`.
 *
 * @returns the stored hash
 */
export async function confirmCaller(
  accounts: ConfirmContext & { assertRecentSignIn: Accounts['assertRecentSignIn'] },
  ctx: RouteContext,
  password: string | undefined,
  field: string,
): Promise<string> {
  const { id } = ctx.user!;
  if (password !== undefined) return confirmPassword(accounts, id, password, field);
  const hash = await accounts.users.findPasswordHash(id);
  if (hash === undefined) throw invalidSessionError();
  if (isPasswordHash(hash)) throw validationError({ [field]: 'Is required' });
  await accounts.assertRecentSignIn(ctx);
  return hash;
}

const changePasswordFields = z.strictObject({
  currentPassword: passwordToCheck
    .optional()
    .meta({ description: 'Required unless you have no password; then you must have signed in recently' }),
  newPassword: z
    .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
    .meta({ format: 'password', minLength: 8, maxLength: 128 }),
});

/** The body of `POST /auth/password`. The password rules check `newPassword` later. */
export const changePasswordInput = namePasswordIfNothingIsSent(changePasswordFields, 'currentPassword', 'newPassword');

/** `POST /auth/password`. Runs the revocation steps with the cause `password_change`, which end all other sessions. */
export async function changePassword(
  accounts: AccountsDependencies,
  ctx: RouteContext<z.output<typeof changePasswordInput>>,
): Promise<void> {
  const { host, users, hasher, revoke } = accounts;
  const user = ctx.user!;
  const newPassword = await checkNewPassword(accounts.user.resource, ctx.input.newPassword, user, 'newPassword');
  const formerHash = await confirmCaller(accounts, ctx, ctx.input.currentPassword, 'currentPassword');
  const hash = await hasher.hash(newPassword);
  const ip = addressOf(ctx.req);
  const changed = await host.transaction(async (tx) => {
    const stored = await users.replacePasswordHashIfUnchanged(user.id, formerHash, hash, tx.database);
    const revocation = { cause: 'password_change', userIds: [user.id], exceptSession: ctx.auth!.id, ip } as const;
    if (stored) await revoke(revocation, tx);
    return stored;
  });
  // Another request changed the password after this one checked it.
  if (!changed) throw wrongPasswordError('currentPassword');
  host.events.emit('auth.password_changed', { user, ip });
}
