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
import { type EndpointRow, getOwnerKey, serializeEndpoint } from '../endpoints/endpoint.ts';
import { READ_ANY_ENDPOINT } from '../endpoints/endpoints-sql.ts';
import { isApiKey, type KeyLimits } from '../endpoints/key-limits.ts';
import type { Audience } from '../engine/readability/readability.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import type { EndpointAccess } from './organisation-endpoints.ts';

/** Limit per client and route, for routes that send at once or run expensive queries. */
export const REQUEST_RATE_LIMIT = { limit: 10, windowMs: 60_000 };

/**
 * Returns the id of the endpoint owner that a request acts for: the caller, or an organisation.
 *
 * @throws ApiError UNAUTHORIZED if signed out: a policy may allow that, but an endpoint needs an owner
 */
export function requireOwnerId({ user }: Pick<AuthorizationRequest, 'user'>): string {
  if (user === undefined) throw new ApiError('UNAUTHORIZED');
  return user.id;
}

/**
 * Creates the loader of the endpoint that a route names. Its row becomes `ctx.doc`. The loader throws UNAUTHORIZED, and NOT_FOUND or FORBIDDEN if
 * the caller does not reach the endpoint.
 */
export function createOwnEndpointLoader(
  database: Database,
  { assertReaches }: Pick<EndpointAccess, 'assertReaches'>,
): NonNullable<Route['load']> {
  return async (asking): Promise<EndpointRow> => {
    requireOwnerId(asking);
    const { id } = asking.params;
    if (!isId(id)) throw new ApiError('NOT_FOUND');
    const statement = { name: 'webhook_read_any', text: READ_ANY_ENDPOINT, values: [id] };
    const [row] = await database.read<EndpointRow>(statement);
    if (row === undefined) throw new ApiError('NOT_FOUND');
    await assertReaches(asking, row);
    return row;
  };
}

/**
 * Creates a loader like `createOwnEndpointLoader`, for routes that change the endpoint or send to it. It also throws FORBIDDEN for an
 * API key that may not manage this endpoint.
 */
export function createManagedEndpointLoader(
  database: Database,
  limits: KeyLimits,
  access: Pick<EndpointAccess, 'assertReaches'>,
): NonNullable<Route['load']> {
  const load = createOwnEndpointLoader(database, access);
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
  const row = ctx.doc as EndpointRow;
  return {
    ...getOwnerKey(row),
    scope: serializeEndpoint(row).scope,
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
