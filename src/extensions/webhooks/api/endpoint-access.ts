import {
  ApiError,
  type AuthorizationRequest,
  allowsAction,
  type Database,
  isId,
  type Route,
  type RouteContext,
} from '../../../extension/index.ts';
import { getRequestForPolicy } from '../endpoints/administrators.ts';
import { type EndpointRow, serializeEndpoint } from '../endpoints/endpoint.ts';
import { READ_ENDPOINT } from '../endpoints/endpoints-sql.ts';
import { isApiKey, type KeyLimits } from '../endpoints/key-limits.ts';
import type { Audience } from '../engine/readability/readability.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { reachesEndpoint } from './portal-grants.ts';

/** Limit per client and route, for routes that send at once or run expensive queries. */
export const REQUEST_RATE_LIMIT = { limit: 10, windowMs: 60_000 };

/**
 * Returns the caller's id.
 *
 * @throws ApiError UNAUTHORIZED if signed out: a policy may allow that, but an endpoint needs an owner. BAD_REQUEST for
 *   a request that names an organisation: endpoints receive the events of all organisations of their owner
 */
export function requireCallerId({ user, req }: Pick<AuthorizationRequest, 'user' | 'req'>): string {
  if (user === undefined) throw new ApiError('UNAUTHORIZED');
  if (req.headers['x-organisation'] !== undefined)
    throw new ApiError(
      'BAD_REQUEST',
      'Webhooks take no X-Organisation: an endpoint receives the events of all organisations of its owner. Send the request without this header',
    );
  return user.id;
}

/**
 * Creates the loader of the caller's endpoint that a route names. Its row becomes `ctx.doc`. The loader throws UNAUTHORIZED, and NOT_FOUND
 * if the endpoint does not exist, belongs to another user, or is beyond the reach of a link to the portal.
 */
export function createOwnEndpointLoader(database: Database): NonNullable<Route['load']> {
  return async (asking): Promise<EndpointRow> => {
    const owner = requireCallerId(asking);
    const { id } = asking.params;
    if (!isId(id)) throw new ApiError('NOT_FOUND');
    const [row] = await database.read<EndpointRow>({ name: 'webhook_read', text: READ_ENDPOINT, values: [id, owner] });
    if (row === undefined || !reachesEndpoint(asking.auth, serializeEndpoint(row))) throw new ApiError('NOT_FOUND');
    return row;
  };
}

/**
 * Creates a loader like `createOwnEndpointLoader`, for routes that change the endpoint or send to it. It also throws FORBIDDEN for an
 * API key that may not manage this endpoint.
 */
export function createManagedEndpointLoader(database: Database, limits: KeyLimits): NonNullable<Route['load']> {
  const load = createOwnEndpointLoader(database);
  return async (asking) => {
    const row = (await load(asking)) as EndpointRow;
    limits.assertMayManage(asking, serializeEndpoint(row));
    return row;
  };
}

/** Returns the endpoint that a route has loaded, serialized for its owner. */
export function serializeLoadedEndpoint(ctx: RouteContext): ReturnType<typeof serializeEndpoint> {
  return serializeEndpoint(ctx.doc as EndpointRow);
}

/** Returns the reader for which a route checks the bodies of the loaded endpoint's deliveries. */
export function getCallerAudience(ctx: RouteContext): Audience {
  return {
    owner: requireCallerId(ctx),
    scope: serializeLoadedEndpoint(ctx).scope,
    key: isApiKey(ctx.auth) ? ctx.auth : undefined,
  };
}

/** The error for a request to send to a disabled endpoint. */
export function endpointDisabledError(): ApiError {
  return new ApiError('BAD_REQUEST', 'The webhook is disabled; enable it first');
}

/**
 * Returns the endpoint that a route has loaded, if it can be sent to now.
 *
 * @throws ApiError BAD_REQUEST if it is disabled; FORBIDDEN if it is global and its owner may no longer have global endpoints
 */
export async function requireEnabledEndpoint(
  settings: Pick<WebhookSettings, 'globalPolicy'>,
  ctx: RouteContext,
): Promise<ReturnType<typeof serializeEndpoint>> {
  const endpoint = serializeLoadedEndpoint(ctx);
  if (!endpoint.enabled) throw endpointDisabledError();
  const { user, service } = ctx;
  const args = { user, action: 'webhook', doc: undefined, req: getRequestForPolicy(ctx), service };
  if (endpoint.scope === 'global' && !(await allowsAction(settings.globalPolicy, args, false))) {
    throw new ApiError('FORBIDDEN', 'You are not allowed to have a webhook of scope "global"');
  }
  return endpoint;
}
