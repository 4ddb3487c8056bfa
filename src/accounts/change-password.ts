import { z } from 'zod';
import type { RouteContext } from '../declare/route.ts';
import { validationError } from '../platform/errors.ts';
import { addressOf } from '../platform/http/client-address.ts';
import { lockedOut } from './lockout.ts';
import { givenPassword } from './login.ts';
import type { AccountParts } from './parts.ts';
import { checkNewPassword } from './password-rules.ts';

/** The body of a change of password. What the new one must be like is for the password rules to say. */
export const changePasswordInput = z.strictObject({
  currentPassword: givenPassword,
  newPassword: z
    .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
    .meta({ format: 'password', minLength: 8, maxLength: 128 }),
});

/** The hash of a user's password if this is the password. */
async function check({ users, hasher }: AccountParts, userId: string, password: string): Promise<string | undefined> {
  const hash = await users.passwordHashOf(userId);
  return hash !== undefined && (await hasher.verify(password, hash)) ? hash : undefined;
}

/**
 * `POST /auth/password`. All other sessions end. Who holds a stolen session must not find the password by trying: wrong current
 * passwords are counted like failed sign-ins, but apart from them, so that he can't keep the user from signing in either.
 */
export async function changePassword(
  parts: AccountParts,
  ctx: RouteContext<z.output<typeof changePasswordInput>>,
): Promise<void> {
  const { host, users, sessions, hasher, lockout } = parts;
  const user = ctx.user!;
  const wanted = await checkNewPassword(parts.user.resource, ctx.input.newPassword, user, 'newPassword');
  const outcome = await lockout.attempt(`password:${user.id}`, () => check(parts, user.id, ctx.input.currentPassword));
  if (outcome.kind === 'locked') throw lockedOut('Too many wrong passwords', outcome.leftMs, host.settings);
  const wrong = () => validationError({ currentPassword: 'Is not your password' });
  if (outcome.kind === 'failed') throw wrong();
  const hash = await hasher.hash(wanted);
  const changed = await host.database.transaction(async (tx) => {
    const stored = await users.setPasswordHash(user.id, outcome.value, hash, tx);
    if (stored) await sessions.endAll(user.id, { except: ctx.auth!.id, on: tx });
    return stored;
  });
  // Another change was quicker: the current password is a former one by now.
  if (!changed) throw wrong();
  host.events.emit('auth.password_changed', { user, ip: addressOf(ctx.req) });
}
