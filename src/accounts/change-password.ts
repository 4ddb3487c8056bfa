import { z } from 'zod';
import type { RouteContext } from '../declare/route.ts';
import { addressOf } from '../platform/http/client-address.ts';
import { confirmPassword, wrongPassword } from './confirm-password.ts';
import type { AccountsContext } from './context.ts';
import { givenPassword } from './login.ts';
import { checkNewPassword } from './password-rules.ts';

/** The body of a change of password. What the new one must be like is for the password rules to say. */
export const changePasswordInput = z.strictObject({
  currentPassword: givenPassword,
  newPassword: z
    .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
    .meta({ format: 'password', minLength: 8, maxLength: 128 }),
});

/** `POST /auth/password`. All other sessions end. */
export async function changePassword(
  accounts: AccountsContext,
  ctx: RouteContext<z.output<typeof changePasswordInput>>,
): Promise<void> {
  const { host, users, sessions, hasher, resets } = accounts;
  const user = ctx.user!;
  const wanted = await checkNewPassword(accounts.user.resource, ctx.input.newPassword, user, 'newPassword');
  const former = await confirmPassword(accounts, user.id, ctx.input.currentPassword, 'currentPassword');
  const hash = await hasher.hash(wanted);
  const changed = await host.database.transaction(async (tx) => {
    const stored = await users.setPasswordHash(user.id, former, hash, tx);
    if (!stored) return false;
    await sessions.endAll(user.id, { except: ctx.auth!.id, on: tx });
    await resets.takeBack(user.id, tx);
    return true;
  });
  // Another change was quicker: the current password is a former one by now.
  if (!changed) throw wrongPassword('currentPassword');
  host.events.emit('auth.password_changed', { user, ip: addressOf(ctx.req) });
}
