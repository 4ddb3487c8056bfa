import type { RouteContext } from '../declare/route.ts';
import { ApiError, invalidSession } from '../platform/errors.ts';
import { addressOf } from '../platform/http/client-address.ts';
import type { AccountsContext } from './context.ts';

/** `POST /auth/register`: creates the user by the user resource's own rules, with nobody signed in, and starts a session. */
export async function register(accounts: AccountsContext, ctx: RouteContext) {
  if (!accounts.host.settings.auth.register) throw new ApiError('FORBIDDEN', 'Registration is closed');
  const user = await accounts.users.register(ctx.body, ctx.req);
  const session = await accounts.sessions.start(user.id, ctx.req);
  // Somebody deleted it in this very moment.
  if (session === undefined) throw invalidSession();
  accounts.host.events.emit('auth.registered', { user, ip: addressOf(ctx.req) });
  ctx.res.setHeader('Cache-Control', 'no-store');
  return { user: accounts.users.asSeenBySelf(user), ...session };
}
