import { hash } from 'node:crypto';
import type { Request } from 'express';
import { z } from 'zod';
import type { Accounts } from '../../declare/accounts.ts';
import { isAccountActive } from '../../declare/actor.ts';
import type { Host, StoredRecord } from '../../declare/host.ts';
import type { RouteContext } from '../../declare/route.ts';
import { recordShape } from '../../declare/route.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import { type Lockout, signInLockoutName } from '../lockout/lockout.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Account, Users } from '../users/users.ts';
import { emitLoginFailed, wrongCredentialsError } from './attempt.ts';
import { type SignInSteps, splitProof } from './steps.ts';

/** The shape of the response to a login without further steps and to a registration. */
export const newSessionShape = z
  .object({
    user: recordShape('user'),
    token: z.string().meta({ description: 'Send it as `Authorization: Bearer …`. It is only returned here.' }),
    expiresAt: z.iso.datetime(),
  })
  .meta({ id: 'NewSession' });

/** The shape of the response to a login: a new session, or the output of the app's further step, if there is one. */
export function loginShape({ output }: SignInSteps): z.ZodType {
  return output === undefined ? newSessionShape : z.xor([newSessionShape, output]);
}

/** The shape of the response to a registration: a new session, or the output of a further step that new users need. */
export function registrationShape({ registrationOutput }: SignInSteps): z.ZodType {
  return registrationOutput === undefined ? newSessionShape : z.xor([newSessionShape, registrationOutput]);
}

/** What a login needs after its credential has been checked. */
export interface LoginDependencies {
  host: Host;
  users: Users;
  sessions: Sessions;
  lockout: Lockout;
  /** The steps of extensions, such as a second factor, that a login runs after a correct credential. */
  signInSteps: SignInSteps;
}

/** A sign-in whose credential was correct. */
interface VerifiedLogin {
  account: Account;
  request: Request;
  /** As in `session.method`. */
  method: string;
  multiFactor?: boolean | undefined;
  /** The number of sign-in steps that a login has passed that is resumed. */
  passedSteps?: number;
}

const METHOD = /^[\w:.-]{1,64}$/;

/** Refuses the login of a user who is not active, and emits `security.login_failed`. @throws ApiError FORBIDDEN */
function assertActiveUser(accounts: Pick<LoginDependencies, 'host'>, user: StoredRecord, request: Request): void {
  if (isAccountActive(user)) return;
  emitLoginFailed(accounts, { email: String(user.email), request }, 'user_disabled');
  throw new ApiError('FORBIDDEN', 'This account is disabled');
}

/** Emits `security.login_failed` for a login during which the password was changed, and returns the 401 error. */
function reportPasswordChanged(
  accounts: Pick<LoginDependencies, 'host'>,
  user: StoredRecord,
  request: Request,
): ApiError {
  emitLoginFailed(accounts, { email: String(user.email), request }, 'password_changed');
  return wrongCredentialsError();
}

/**
 * Returns the proof of a correct credential. It contains a hash of the stored password hash, because a copy of the stored hash would allow
 * guessing offline, and the method of the sign-in unless that is the password.
 */
export function createProof(passwordHash: string, method = 'password'): string {
  const hashOfHash = hash('sha256', passwordHash);
  return method === 'password' ? hashOfHash : `${hashOfHash}.${method}`;
}

/** Returns the method in a proof. */
function methodOfProof(proof: string): string {
  const separator = proof.indexOf('.');
  return separator < 0 ? 'password' : proof.slice(separator + 1);
}

/** Starts the session of a login that has passed all steps, and returns the response. */
async function startLoginSession(
  accounts: Pick<LoginDependencies, 'host' | 'users' | 'sessions'>,
  { account: { user, passwordHash }, method, request }: Pick<VerifiedLogin, 'account' | 'method' | 'request'>,
) {
  assertActiveUser(accounts, user, request);
  const session = await accounts.sessions.startSession(user.id, request, { passwordHash, method });
  if (session === undefined) throw reportPasswordChanged(accounts, user, request);
  const userAgent = String(request.headers['user-agent'] ?? '');
  accounts.host.events.emit('auth.login', { user, ip: addressOf(request), method, userAgent });
  request.res?.setHeader('Cache-Control', 'no-store');
  return { user: accounts.users.asSeenBySelf(user), ...session };
}

/** The result of a login with the right credential. */
interface LoginResult {
  response: object;
  /** Whether a session has started; otherwise a further step follows. */
  completed: boolean;
}

/**
 * Continues a login with the right credential: returns the response of the first step that needs something, or starts the session.
 *
 * @throws ApiError FORBIDDEN if the account is not active; UNAUTHORIZED if its password was changed meanwhile
 */
export async function finishLogin(accounts: LoginDependencies, login: VerifiedLogin): Promise<LoginResult> {
  const { account, method, multiFactor = false, passedSteps = 0, request } = login;
  const { user, passwordHash } = account;
  assertActiveUser(accounts, user, request);
  const stepResponse = await accounts.signInSteps.askNext(
    { user, method, multiFactor, passedSteps, isRegistration: false, req: request },
    createProof(passwordHash, method),
  );
  if (stepResponse !== undefined) {
    request.res?.setHeader('Cache-Control', 'no-store');
    return { response: stepResponse, completed: false };
  }
  return { response: await startLoginSession(accounts, login), completed: true };
}

/** Continues a login outside of the lockout of its address. A completed one clears the failed attempts, as every successful sign-in. */
async function finishUncountedLogin(accounts: LoginDependencies, login: VerifiedLogin): Promise<object> {
  const { response, completed } = await finishLogin(accounts, login);
  if (completed) await accounts.lockout.clearFailedAttempts(signInLockoutName(String(login.account.user.email)));
  return response;
}

/** Continues a login that was waiting for a further step, such as a second factor. See `Accounts`. */
export async function resumeLogin(
  accounts: LoginDependencies,
  { userId, passwordProof, multiFactor = false }: Parameters<Accounts['resumeLogin']>[0],
  { req: request }: Pick<RouteContext, 'req'>,
): Promise<object> {
  const account = await accounts.users.findAccountById(userId);
  if (account === undefined) throw wrongCredentialsError();
  const { credential, passedSteps, multiFactor: wasMultiFactor } = splitProof(passwordProof);
  const method = methodOfProof(credential);
  if (createProof(account.passwordHash, method) !== credential)
    throw reportPasswordChanged(accounts, account.user, request);
  return finishUncountedLogin(accounts, {
    ...{ account, method, passedSteps, request },
    multiFactor: multiFactor || wasMultiFactor,
  });
}

/**
 * Starts a session for a user who signed in without a password. The lockout does not apply: it protects secrets that can be guessed, which are
 * checked before, and must not keep the owner of an account from signing in with others. See `Accounts`.
 */
export async function startSessionWithoutPassword(
  accounts: LoginDependencies,
  ...[userId, { method, request, multiFactor, proof }]: Parameters<Accounts['startSession']>
): Promise<object> {
  if (!METHOD.test(method)) throw new TypeError(`"${method}" is not a name for a way to sign in`);
  const account = await accounts.users.findAccountById(userId);
  if (account === undefined) throw new ApiError('UNAUTHORIZED', 'This account no longer exists');
  const { user, passwordHash } = account;
  if (proof !== undefined && createProof(passwordHash) !== proof) throw reportPasswordChanged(accounts, user, request);
  return finishUncountedLogin(accounts, { account, method, multiFactor, request });
}
