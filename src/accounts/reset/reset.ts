import { z } from 'zod';
import { isActive } from '../../declare/actor.ts';
import type { RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/errors.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import type { AccountsContext } from '../context.ts';
import { signInsWith } from '../lockout.ts';
import { checkNewPassword } from '../password-rules.ts';

const text = z.string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') });

/** The body of a reset. What the password must be like is for the password rules to say. */
export const resetInput = z.strictObject({
  token: text,
  password: text.meta({ format: 'password', minLength: 8, maxLength: 128 }),
});

/**
 * `POST /auth/password/reset`: the link allows one new password. Revokes credentials with the cause `password_reset` (all sessions end,
 * among other things), and unlocks the e-mail address.
 */
export async function reset(accounts: AccountsContext, ctx: RouteContext<z.output<typeof resetInput>>): Promise<void> {
  const { host, users, hasher, lockout, resets, revoke } = accounts;
  const { token } = ctx.input;
  const ip = addressOf(ctx.req);
  const user = await resets.find(token);
  if (user === undefined || !isActive(user)) throw new ApiError('INVALID_TOKEN');
  // Before the token is spent: a password that is refused must not cost the link.
  const password = await checkNewPassword(accounts.user.resource, ctx.input.password, user, 'password');
  const hash = await hasher.hash(password);
  await host.transaction(async (tx) => {
    // The user's row first, as in a change of the password: two orders would lock each other up.
    const changed = await users.replacePassword(user.id, hash, tx.database);
    if (!changed || !(await resets.spend(user.id, token, tx.database))) throw new ApiError('INVALID_TOKEN');
    await revoke({ cause: 'password_reset', userIds: [user.id], ip }, tx);
  });
  await Promise.all([signInsWith(String(user.email)), `password:${user.id}`].map((name) => lockout.clear(name)));
  host.events.emit('auth.password_reset', { user, ip });
}
