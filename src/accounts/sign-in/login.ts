import { z } from 'zod';
import type { RouteContext } from '../../declare/route.ts';
import type { PasswordHasher } from '../passwords/password-hash.ts';
import { passwordToCheck, requiredText } from '../passwords/password-input.ts';
import type { Account } from '../users/users.ts';
import { runSignInAttempt } from './attempt.ts';
import { finishLogin, type LoginDependencies } from './finish-login.ts';

/** The body of a login. */
export const loginInput = z.strictObject({
  email: requiredText.max(320, { error: 'Must be at most 320 characters' }),
  password: passwordToCheck,
});

interface PasswordLoginDependencies extends LoginDependencies {
  hasher: PasswordHasher;
}

/**
 * Returns the account with this e-mail and password, or undefined; both cases take the same time. Replaces a hash of a lower cost or
 * another format.
 */
async function verifyCredentialsAndUpgradeHash(
  accounts: PasswordLoginDependencies,
  email: string,
  password: string,
): Promise<Account | undefined> {
  const { users, hasher } = accounts;
  const account = await users.findAccountByEmail(email);
  if (account === undefined) {
    await hasher.verifyAgainstNothing(password);
    return undefined;
  }
  const { user, passwordHash } = account;
  if (!(await hasher.verify(password, passwordHash))) return undefined;
  if (!hasher.needsRehash(passwordHash)) return account;
  const upgraded = await hasher.hash(password);
  const stored = await users.replacePasswordHashIfUnchanged(user.id, passwordHash, upgraded);
  // Another request upgraded the hash or changed the password: check again.
  return stored ? { user, passwordHash: upgraded } : verifyCredentialsAndUpgradeHash(accounts, email, password);
}

/**
 * `POST /auth/login`. An unknown e-mail and a wrong password get the same 401. The right password of a disabled account gets 403.
 * Only a started session clears the count of failed sign-ins; the 403 and a right password before a further step do not.
 */
export async function login(accounts: PasswordLoginDependencies, ctx: RouteContext<z.output<typeof loginInput>>) {
  const email = ctx.input.email.trim().toLowerCase();
  const request = ctx.req;
  const { response } = await runSignInAttempt(
    accounts,
    { email, request },
    async () => {
      const account = await verifyCredentialsAndUpgradeHash(accounts, email, ctx.input.password);
      return account && (await finishLogin(accounts, { account, method: 'password', request }));
    },
    { completes: ({ completed }) => completed },
  );
  return response;
}
