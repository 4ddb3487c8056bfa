import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Accounts, SignInStep } from '../../declare/accounts.ts';
import { isAccountActive } from '../../declare/actor.ts';
import type { StoredRecord } from '../../declare/host.ts';
import type { RouteContext } from '../../declare/route.ts';
import { recordShape } from '../../declare/route.ts';
import { ApiError } from '../../platform/errors.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import type { AccountsContext } from '../context.ts';
import { signInLockoutName } from '../lockout/lockout.ts';
import type { Account } from '../users/users.ts';

/** The shape of the response to a login without further steps and to a registration. */
export const newSessionShape = z
  .object({
    user: recordShape('user'),
    token: z.string().meta({ description: 'Send it as `Authorization: Bearer …`. It is only returned here.' }),
    expiresAt: z.iso.datetime(),
  })
  .meta({ id: 'NewSession' });

/** The shape of the response to a login: a new session, or the output of the app's further step, if there is one. */
export function loginShape(step: SignInStep | undefined): z.ZodType {
  return step === undefined ? newSessionShape : z.xor([newSessionShape, step.output]);
}

type LoginContext = Pick<AccountsContext, 'host' | 'users' | 'sessions' | 'lockout'>;

/** The 401 of a login with an unknown e-mail or a wrong password. */
export function wrongCredentialsError(): ApiError {
  return new ApiError('UNAUTHORIZED', 'Invalid email or password');
}

/** Emits `security.login_failed`. `reason` is set when the password was right. */
export function emitLoginFailed(
  { host }: Pick<AccountsContext, 'host'>,
  { req }: RouteContext,
  email: string,
  reason?: 'user_disabled' | 'password_changed',
): void {
  host.events.emit('security.login_failed', { email, ip: addressOf(req), ...(reason && { reason }) });
}

/** Refuses the login of a user who is not active, and emits `security.login_failed`. @throws ApiError FORBIDDEN */
function assertActiveUser(accounts: Pick<AccountsContext, 'host'>, ctx: RouteContext, user: StoredRecord): void {
  if (isAccountActive(user)) return;
  emitLoginFailed(accounts, ctx, String(user.email), 'user_disabled');
  throw new ApiError('FORBIDDEN', 'This account is disabled');
}

/** Emits `security.login_failed` for a login during which the password was changed, and returns the 401 error. */
function reportPasswordChanged(
  accounts: Pick<AccountsContext, 'host'>,
  ctx: RouteContext,
  user: StoredRecord,
): ApiError {
  emitLoginFailed(accounts, ctx, String(user.email), 'password_changed');
  return wrongCredentialsError();
}

/** Hashes the stored password hash, for a waiting login to hold: a copy of the hash itself would allow guessing offline. */
function createPasswordProof(passwordHash: string): string {
  return createHash('sha256').update(passwordHash).digest('hex');
}

/** Starts the session of a login that has passed all steps, and returns the response. */
async function startSession(accounts: LoginContext, ctx: RouteContext, { user, passwordHash }: Account) {
  assertActiveUser(accounts, ctx, user);
  const session = await accounts.sessions.startSession(user.id, ctx.req, passwordHash);
  if (session === undefined) throw reportPasswordChanged(accounts, ctx, user);
  accounts.host.events.emit('auth.login', { user, ip: addressOf(ctx.req) });
  ctx.res.setHeader('Cache-Control', 'no-store');
  return { user: accounts.users.asSeenBySelf(user), ...session };
}

/** The result of a login with the right password. */
interface LoginResult {
  response: object;
  /** Whether a session has started; otherwise a further step follows. */
  completed: boolean;
}

/**
 * Continues a login with the right password: returns the response of the first step that needs something, or starts the session.
 *
 * @throws ApiError FORBIDDEN if the account is not active; UNAUTHORIZED if its password was changed meanwhile
 */
export async function finishLogin(
  accounts: AccountsContext,
  ctx: RouteContext,
  account: Account,
): Promise<LoginResult> {
  const { user, passwordHash } = account;
  assertActiveUser(accounts, ctx, user);
  const stepResponse = await accounts.signInStep?.ask({
    user,
    passwordProof: createPasswordProof(passwordHash),
    req: ctx.req,
  });
  if (stepResponse !== undefined) {
    ctx.res.setHeader('Cache-Control', 'no-store');
    return { response: stepResponse, completed: false };
  }
  return { response: await startSession(accounts, ctx, account), completed: true };
}

/** Starts the session of a login that was waiting for a further step, such as a second factor. See `Accounts`. */
export async function resumeLogin(
  accounts: LoginContext,
  { userId, passwordProof }: Parameters<Accounts['resumeLogin']>[0],
  ctx: RouteContext,
): Promise<object> {
  const account = await accounts.users.findAccountById(userId);
  if (account === undefined) throw wrongCredentialsError();
  if (createPasswordProof(account.passwordHash) !== passwordProof)
    throw reportPasswordChanged(accounts, ctx, account.user);
  const response = await startSession(accounts, ctx, account);
  await accounts.lockout.clearFailedAttempts(signInLockoutName(String(account.user.email)));
  return response;
}
