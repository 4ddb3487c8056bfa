import type { Accounts } from '../declare/accounts.ts';
import { confirmCaller, confirmPassword } from './change-password.ts';
import { createNoPassword } from './passwords/password-hash.ts';
import type { AccountServices } from './services.ts';
import { checkSecretOfCaller, runSignInAttempt } from './sign-in/attempt.ts';
import { loginShape, resumeLogin, startSessionWithoutPassword } from './sign-in/finish-login.ts';

const normalizeEmail = (email: string) => email.trim().toLowerCase();

/** Creates the functions that extensions may call. */
export function createAccountsApi(services: AccountServices): Accounts {
  const { accounts, links, power, lockInOrder, holdCredential, lockUser, findUserWithProof, confirmIdentity } =
    services;
  const { sessions, users, revoke, assertRecentSignIn, verifyEmail } = accounts;
  return {
    startSession: (userId, signIn) => startSessionWithoutPassword(services.signInContext(), userId, signIn),
    loginOutput: () => loginShape(services.signInContext().signInSteps),
    lockouts: accounts.lockout.administration,
    checkSecret(attempt, check, wrong) {
      if ('userId' in attempt) return checkSecretOfCaller(accounts, attempt.userId, check, wrong);
      const email = normalizeEmail(attempt.email);
      // The session that follows clears the failed attempts.
      return runSignInAttempt(accounts, { email, request: attempt.request }, check, { completes: () => false, wrong });
    },
    lockInOrder,
    lockUser,
    findUserWithProof,
    async removePassword(userId, tx) {
      await users.overwritePasswordHash(userId, createNoPassword(), tx);
    },
    findUserByEmail: async (email) => (await users.findAccountByEmail(normalizeEmail(email)))?.user,
    createUser: (values, request, options) => users.createUser(values, request, options),
    verifyEmail,
    ...links,
    assertRecentSignIn,
    async renewRecentSignIn({ auth }) {
      if (auth?.via === 'session') await sessions.renewRecentSignIn(auth.id);
    },
    async chooseOrganisation({ auth }, organisation) {
      if (auth?.via === 'session') await sessions.chooseOrganisation(auth.id, organisation);
    },
    revoke,
    holdCredential,
    resumeLogin: (login, ctx) => resumeLogin(services.signInContext(), login, ctx),
    async confirmPassword(userId, password, field) {
      await confirmPassword(accounts, userId, password, field);
    },
    async confirmCaller(ctx, password, field) {
      await confirmCaller(accounts, ctx, password, field);
    },
    confirmSecondFactor: power.confirmCode,
    confirmIdentity,
    confirmNewCredential: power.confirmNewCredential,
    power: power.power,
  };
}
