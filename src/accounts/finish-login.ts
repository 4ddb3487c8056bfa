import type { RouteContext } from '../declare/route.ts';
import { ApiError } from '../platform/errors.ts';
import { addressOf } from '../platform/http/client-address.ts';
import type { AccountParts } from './parts.ts';
import type { Account } from './users.ts';

/** The 401 of a login, whichever of the two is wrong. */
export function wrongCredentials(): ApiError {
  return new ApiError('UNAUTHORIZED', 'Invalid email or password');
}

/**
 * Starts the session of a login all of whose steps are passed, and gives its answer.
 *
 * @throws ApiError FORBIDDEN when the account is not active; UNAUTHORIZED when its password was changed meanwhile
 */
export async function finishLogin(parts: AccountParts, ctx: RouteContext, { user, passwordHash }: Account) {
  if (user.status !== undefined && user.status !== 'active')
    throw new ApiError('FORBIDDEN', 'This account is disabled');
  const session = await parts.sessions.start(user.id, ctx.req, passwordHash);
  if (session === undefined) throw wrongCredentials();
  parts.host.events.emit('auth.login', { user, ip: addressOf(ctx.req) });
  ctx.res.setHeader('Cache-Control', 'no-store');
  return { user: await parts.users.showToSelf(user, ctx.req), ...session };
}
