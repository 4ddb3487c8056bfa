import { createHash } from 'node:crypto';
import type { Accounts } from '../declare/accounts.ts';
import type { StoredRecord } from '../declare/host.ts';
import type { RouteContext } from '../declare/route.ts';
import { isActive } from '../declare/viewer.ts';
import { ApiError } from '../platform/errors.ts';
import { addressOf } from '../platform/http/client-address.ts';
import type { AccountsContext } from './context.ts';
import type { Account } from './users.ts';

type LoginContext = Pick<AccountsContext, 'host' | 'users' | 'sessions'>;

/** The 401 of a login, whichever of the two is wrong. */
export function wrongCredentials(): ApiError {
  return new ApiError('UNAUTHORIZED', 'Invalid email or password');
}

/** @throws ApiError FORBIDDEN */
function assertActive(user: StoredRecord): void {
  if (!isActive(user)) throw new ApiError('FORBIDDEN', 'This account is disabled');
}

/** Only a hash: with a password's hash at hand passwords can be tried. */
function proofOf(passwordHash: string): string {
  return createHash('sha256').update(passwordHash).digest('hex');
}

/** Starts the session of a login all of whose steps are passed, and gives its answer. */
async function startSession(accounts: LoginContext, ctx: RouteContext, { user, passwordHash }: Account) {
  assertActive(user);
  const session = await accounts.sessions.start(user.id, ctx.req, passwordHash);
  if (session === undefined) throw wrongCredentials();
  accounts.host.events.emit('auth.login', { user, ip: addressOf(ctx.req) });
  ctx.res.setHeader('Cache-Control', 'no-store');
  return { user: await accounts.users.showToSelf(user, ctx.req), ...session };
}

/**
 * What follows a right password: a further step, or the session.
 *
 * @throws ApiError FORBIDDEN when the account is not active; UNAUTHORIZED when its password was changed meanwhile
 */
export async function finishLogin(accounts: AccountsContext, ctx: RouteContext, account: Account): Promise<object> {
  const { user, passwordHash } = account;
  assertActive(user);
  for (const step of accounts.steps) {
    const asked = await step.ask({ user, passwordProof: proofOf(passwordHash), req: ctx.req });
    if (asked === undefined) continue;
    ctx.res.setHeader('Cache-Control', 'no-store');
    return asked;
  }
  return startSession(accounts, ctx, account);
}

/** Starts the session of a login that a step had held up. See `Accounts`. */
export async function resumeLogin(
  accounts: LoginContext,
  { userId, passwordProof }: Parameters<Accounts['resumeLogin']>[0],
  ctx: RouteContext,
): Promise<object> {
  const account = await accounts.users.findById(userId);
  if (account === undefined || proofOf(account.passwordHash) !== passwordProof) throw wrongCredentials();
  return startSession(accounts, ctx, account);
}
