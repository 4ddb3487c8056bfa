import { z } from 'zod';
import type { RouteContext } from '../declare/route.ts';
import { addressOf } from '../platform/http/client-address.ts';
import { isStorable, UNSTORABLE } from '../platform/postgres/storable.ts';
import type { AccountsContext } from './context.ts';
import { finishLogin, loginFailed, wrongCredentials } from './finish-login.ts';
import { lockedOut, signInsWith } from './lockout.ts';
import type { Account } from './users.ts';

const text = z
  .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
  .refine(isStorable, { error: UNSTORABLE });

/** By code points, as where passwords are set. */
const hasPasswordLength = (password: string) => password.length <= 256 && [...password].length <= 128;

/** A password that is to be checked. One beyond any that can have been set is refused before it is hashed. */
export const givenPassword = text.refine(hasPasswordLength, { error: 'Must be at most 128 characters' });

/** The body of a login. */
export const loginInput = z.strictObject({
  email: text.max(320, { error: 'Must be at most 320 characters' }),
  password: givenPassword,
});

/** The account whose e-mail and password these are, or undefined; the work is the same either way. */
async function check(accounts: AccountsContext, email: string, password: string): Promise<Account | undefined> {
  const { users, hasher } = accounts;
  const account = await users.findForLogin(email);
  if (account === undefined) {
    await hasher.verifyNothing(password);
    return undefined;
  }
  const { user, passwordHash } = account;
  if (!(await hasher.verify(password, passwordHash))) return undefined;
  if (!hasher.needsRehash(passwordHash)) return account;
  const upgraded = await hasher.hash(password);
  const stored = await users.setPasswordHash(user.id, passwordHash, upgraded);
  // Somebody else upgraded it, or changed the password: the question is asked again.
  return stored ? { user, passwordHash: upgraded } : check(accounts, email, password);
}

/**
 * `POST /auth/login`. A wrong e-mail and a wrong password answer alike; only the right password of a disabled account answers 403.
 * Only a started session clears the count of failed sign-ins: that 403 does not, nor does a right password before a further step.
 */
export async function login(accounts: AccountsContext, ctx: RouteContext<z.output<typeof loginInput>>) {
  const { events, settings } = accounts.host;
  const email = ctx.input.email.trim().toLowerCase();
  const who = { email, ip: addressOf(ctx.req) };
  const outcome = await accounts.lockout.attempt(
    signInsWith(email),
    async () => {
      const account = await check(accounts, email, ctx.input.password);
      return account && (await finishLogin(accounts, ctx, account));
    },
    ({ completed }) => completed,
  );
  if (outcome.kind === 'locked') {
    events.emit('security.locked_login_attempt', who);
    throw lockedOut('Too many failed sign-ins', outcome.leftMs, settings);
  }
  if (outcome.kind === 'failed') {
    loginFailed(accounts, ctx, email);
    if (outcome.lockedUntil !== undefined)
      events.emit('security.account_locked', { ...who, lockedUntil: outcome.lockedUntil });
    throw wrongCredentials();
  }
  return outcome.value.answer;
}
