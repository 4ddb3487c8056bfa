import { createHash } from 'node:crypto';
import type { Accounts } from '../declare/accounts.ts';
import { isActive } from '../declare/actor.ts';
import type { StoredRecord } from '../declare/host.ts';
import type { RouteContext } from '../declare/route.ts';
import { ApiError } from '../platform/errors.ts';
import { addressOf } from '../platform/http/client-address.ts';
import type { AccountsContext } from './context.ts';
import { signInsWith } from './lockout.ts';
import type { Account } from './users.ts';

type LoginContext = Pick<AccountsContext, 'host' | 'users' | 'sessions' | 'lockout'>;

/** The 401 of a login, whichever of the two is wrong. */
export function wrongCredentials(): ApiError {
  return new ApiError('UNAUTHORIZED', 'Invalid email or password');
}

/** Emits the event of a failed sign-in. `reason` is set when the password was right. */
export function loginFailed(
  { host }: Pick<AccountsContext, 'host'>,
  { req }: RouteContext,
  email: string,
  reason?: 'user_disabled' | 'password_changed',
): void {
  host.events.emit('security.login_failed', { email, ip: addressOf(req), ...(reason && { reason }) });
}

/** @throws ApiError FORBIDDEN */
function assertActive(accounts: Pick<AccountsContext, 'host'>, ctx: RouteContext, user: StoredRecord): void {
  if (isActive(user)) return;
  loginFailed(accounts, ctx, String(user.email), 'user_disabled');
  throw new ApiError('FORBIDDEN', 'This account is disabled');
}

/** The 401 of a login during which the password was changed. */
function passwordChanged(accounts: Pick<AccountsContext, 'host'>, ctx: RouteContext, user: StoredRecord): ApiError {
  loginFailed(accounts, ctx, String(user.email), 'password_changed');
  return wrongCredentials();
}

/** Only a hash: with a password's hash at hand passwords can be tried. */
function proofOf(passwordHash: string): string {
  return createHash('sha256').update(passwordHash).digest('hex');
}

/** Starts the session of a login all of whose steps are passed, and gives its answer. */
async function startSession(accounts: LoginContext, ctx: RouteContext, { user, passwordHash }: Account) {
  assertActive(accounts, ctx, user);
  const session = await accounts.sessions.start(user.id, ctx.req, passwordHash);
  if (session === undefined) throw passwordChanged(accounts, ctx, user);
  accounts.host.events.emit('auth.login', { user, ip: addressOf(ctx.req) });
  ctx.res.setHeader('Cache-Control', 'no-store');
  return { user: accounts.users.asSeenBySelf(user), ...session };
}

/** The result of a login with the right password. */
interface Login {
  answer: object;
  /** Whether a session has started; otherwise a further step follows. */
  completed: boolean;
}

/**
 * What follows a right password: a further step, or the session.
 *
 * @throws ApiError FORBIDDEN when the account is not active; UNAUTHORIZED when its password was changed meanwhile
 */
export async function finishLogin(accounts: AccountsContext, ctx: RouteContext, account: Account): Promise<Login> {
  const { user, passwordHash } = account;
  assertActive(accounts, ctx, user);
  const asked = await accounts.signInStep?.ask({ user, passwordProof: proofOf(passwordHash), req: ctx.req });
  if (asked !== undefined) {
    ctx.res.setHeader('Cache-Control', 'no-store');
    return { answer: asked, completed: false };
  }
  return { answer: await startSession(accounts, ctx, account), completed: true };
}

/** Starts the session of a login that a step had held up, which completes the sign-in. See `Accounts`. */
export async function resumeLogin(
  accounts: LoginContext,
  { userId, passwordProof }: Parameters<Accounts['resumeLogin']>[0],
  ctx: RouteContext,
): Promise<object> {
  const account = await accounts.users.findById(userId);
  if (account === undefined) throw wrongCredentials();
  if (proofOf(account.passwordHash) !== passwordProof) throw passwordChanged(accounts, ctx, account.user);
  const answer = await startSession(accounts, ctx, account);
  await accounts.lockout.complete(signInsWith(String(account.user.email)));
  return answer;
}
