import { z } from 'zod';
import type { StoredRecord } from '../declare/host.ts';
import type { RouteContext } from '../declare/route.ts';
import { ApiError } from '../platform/errors.ts';
import { addressOf } from '../platform/http/client-address.ts';
import { isStorable, UNSTORABLE } from '../records/fields/text-rules.ts';
import type { AccountParts } from './parts.ts';

const text = z
  .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
  .refine(isStorable, { error: UNSTORABLE });

/** By code points, as where passwords are set. */
const hasPasswordLength = (password: string) => password.length <= 256 && [...password].length <= 128;

/** The body of a login. A password beyond any that can have been set is refused before it is hashed. */
export const loginInput = z.strictObject({
  email: text.max(320, { error: 'Must be at most 320 characters' }),
  password: text.refine(hasPasswordLength, { error: 'Must be at most 128 characters' }),
});

/** The user whose e-mail and password these are, or undefined; the work is the same either way. */
async function check(parts: AccountParts, email: string, password: string): Promise<StoredRecord | undefined> {
  const account = await parts.users.findForLogin(email.trim().toLowerCase());
  if (account === undefined) {
    await parts.hasher.verifyNothing(password);
    return undefined;
  }
  if (!(await parts.hasher.verify(password, account.passwordHash))) return undefined;
  if (parts.hasher.needsRehash(account.passwordHash)) {
    await parts.users.setPasswordHash(account.user.id, account.passwordHash, await parts.hasher.hash(password));
  }
  return account.user;
}

/** `POST /auth/login`. A wrong e-mail and a wrong password answer alike; 403 is for who knows the password of a disabled account. */
export async function login(parts: AccountParts, ctx: RouteContext<z.output<typeof loginInput>>) {
  const { email, password } = ctx.input;
  const user = await check(parts, email, password);
  if (user === undefined) {
    parts.host.events.emit('security.login_failed', { email: email.trim().toLowerCase(), ip: addressOf(ctx.req) });
    throw new ApiError('UNAUTHORIZED', 'Invalid email or password');
  }
  if (user.status !== undefined && user.status !== 'active')
    throw new ApiError('FORBIDDEN', 'This account is disabled');
  const session = await parts.sessions.start(user.id, ctx.req);
  parts.host.events.emit('auth.login', { user, ip: addressOf(ctx.req) });
  ctx.res.setHeader('Cache-Control', 'no-store');
  return { user: await parts.users.showToSelf(user, ctx.req), ...session };
}
