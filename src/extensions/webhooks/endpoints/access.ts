import { allows } from '../../../declare/policy.ts';
import type { Asking, Route, RouteContext } from '../../../declare/route.ts';
import { ApiError } from '../../../platform/errors.ts';
import { isId } from '../../../platform/ids.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import { type EndpointRow, showEndpoint } from './endpoint.ts';
import type { KeyLimits } from './key-limits.ts';
import type { WebhookSettings } from '../settings.ts';
import { READ } from './endpoints-sql.ts';

/** Of each client, on each route that sends something at once or takes much looking up. */
export const ASKING = { limit: 10, windowMs: 60_000 };

/** @throws ApiError UNAUTHORIZED: a policy may let the signed-out in, but an endpoint needs an owner */
export function ownerOf({ user }: Asking): string {
  if (user === undefined) throw new ApiError('UNAUTHORIZED');
  return user.id;
}

/**
 * Makes what loads the caller's endpoint that a route names: its row is `ctx.doc`. It throws UNAUTHORIZED, and NOT_FOUND when there is
 * none, or it is somebody else's.
 */
export function loadsOwn(database: Database): NonNullable<Route['load']> {
  return async (asking): Promise<EndpointRow> => {
    const owner = ownerOf(asking);
    const { id } = asking.params;
    if (!isId(id)) throw new ApiError('NOT_FOUND');
    const [row] = await database.read<EndpointRow>({ name: 'webhook_read', text: READ, values: [id, owner] });
    if (row === undefined) throw new ApiError('NOT_FOUND');
    return row;
  };
}

/**
 * Loads an endpoint as `loadsOwn` does, for routes that change it or send to it. It also throws FORBIDDEN for an API key that may not
 * manage this endpoint.
 */
export function loadsManaged(database: Database, limits: KeyLimits): NonNullable<Route['load']> {
  const load = loadsOwn(database);
  return async (asking) => {
    const row = (await load(asking)) as EndpointRow;
    limits.assertManages(asking, showEndpoint(row));
    return row;
  };
}

/** The endpoint of a route that has loaded it, as its owner sees it. */
export function ownEndpoint(ctx: RouteContext): ReturnType<typeof showEndpoint> {
  return showEndpoint(ctx.doc as EndpointRow);
}

/** The error of whoever asks a disabled endpoint to be sent to. */
export function disabledError(): ApiError {
  return new ApiError('BAD_REQUEST', 'The webhook is disabled; enable it first');
}

/**
 * The endpoint of a route that has loaded it, to which something is to be sent now.
 *
 * @throws ApiError BAD_REQUEST when it is disabled; FORBIDDEN when it is global and its owner may not have that any more
 */
export async function openEndpoint(
  settings: Pick<WebhookSettings, 'globalPolicy'>,
  ctx: RouteContext,
): Promise<ReturnType<typeof showEndpoint>> {
  const endpoint = ownEndpoint(ctx);
  if (!endpoint.enabled) throw disabledError();
  const { user, req, service } = ctx;
  const args = { user, action: 'webhook', doc: undefined, req, service };
  if (endpoint.scope === 'global' && !(await allows(settings.globalPolicy, args, false))) {
    throw new ApiError('FORBIDDEN', 'You are not allowed to have a webhook of scope "global"');
  }
  return endpoint;
}
