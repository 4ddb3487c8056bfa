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

/** `POST /auth/password`. Revokes credentials with the cause `password_change`: all other sessions end, among other things. */
export async function changePassword(
  accounts: AccountsContext,
  ctx: RouteContext<z.output<typeof changePasswordInput>>,
): Promise<void> {
  const { host, users, hasher, revoke } = accounts;
  const user = ctx.user!;
  const wanted = await checkNewPassword(accounts.user.resource, ctx.input.newPassword, user, 'newPassword');
  const former = await confirmPassword(accounts, user.id, ctx.input.currentPassword, 'currentPassword');
  const hash = await hasher.hash(wanted);
  const ip = addressOf(ctx.req);
  const changed = await host.transaction(async (tx) => {
    const stored = await users.setPasswordHash(user.id, former, hash, tx.database);
    const revocation = { cause: 'password_change', userIds: [user.id], exceptSession: ctx.auth!.id, ip } as const;
    if (stored) await revoke(revocation, tx);
    return stored;
  });
  // Another change was quicker: the current password is a former one by now.
  if (!changed) throw wrongPassword('currentPassword');
  host.events.emit('auth.password_changed', { user, ip });
}
