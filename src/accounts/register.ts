import type { RouteContext } from '../declare/route.ts';
import { ApiError, invalidSession } from '../platform/errors.ts';
import { addressOf } from '../platform/http/client-address.ts';
import type { AccountParts } from './parts.ts';

/** `POST /auth/register`: creates the user by the user resource's own rules, with nobody signed in, and starts a session. */
export async function register(parts: AccountParts, ctx: RouteContext) {
  if (!parts.host.settings.auth.register) throw new ApiError('FORBIDDEN', 'Registration is closed');
  const user = await parts.users.register(ctx.body, ctx.req);
  const session = await parts.sessions.start(user.id, ctx.req);
  // Somebody deleted it in this very moment.
  if (session === undefined) throw invalidSession();
  parts.host.events.emit('auth.registered', { user, ip: addressOf(ctx.req) });
  ctx.res.setHeader('Cache-Control', 'no-store');
  return { user: await parts.users.showToSelf(user, ctx.req), ...session };
}
