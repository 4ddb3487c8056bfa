import { allows } from '../../declare/policy.ts';
import type { RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/errors.ts';
import { isId } from '../../platform/ids.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { type EndpointRow, showEndpoint } from './endpoint.ts';
import type { WebhookSettings } from './settings.ts';
import { READ } from './sql/endpoints.ts';

/** Of each client, on each route that sends something at once or takes much looking up. */
export const ASKING = { limit: 10, windowMs: 60_000 };

/** @throws ApiError UNAUTHORIZED: a policy may let the signed-out in, but an endpoint needs an owner */
export function ownerOf(ctx: RouteContext): string {
  if (ctx.user === undefined) throw new ApiError('UNAUTHORIZED');
  return ctx.user.id;
}

/**
 * The endpoint that a route names, and whose it must be.
 *
 * @throws ApiError UNAUTHORIZED; NOT_FOUND for an id that can't be one
 */
export function endpointIds(ctx: RouteContext): [id: string, owner: string] {
  const owner = ownerOf(ctx);
  if (!isId(ctx.params.id)) throw new ApiError('NOT_FOUND');
  return [ctx.params.id, owner];
}

/**
 * The caller's endpoint that a route names.
 *
 * @throws ApiError UNAUTHORIZED; NOT_FOUND when there is none, or it is somebody else's
 */
export async function readOwn(database: Database, ctx: RouteContext): Promise<EndpointRow> {
  const [row] = await database.read<EndpointRow>({ name: 'webhook_read', text: READ, values: endpointIds(ctx) });
  if (row === undefined) throw new ApiError('NOT_FOUND');
  return row;
}

/** The error of whoever asks a disabled endpoint to be sent to. */
export function disabledError(): ApiError {
  return new ApiError('BAD_REQUEST', 'The webhook is disabled; enable it first');
}

/**
 * The caller's endpoint, to which something is to be sent now.
 *
 * @throws ApiError NOT_FOUND; BAD_REQUEST when it is disabled; FORBIDDEN when it is global and its owner may not have that any more
 */
export async function readOpen(
  database: Database,
  settings: Pick<WebhookSettings, 'globalPolicy'>,
  ctx: RouteContext,
): Promise<ReturnType<typeof showEndpoint>> {
  const endpoint = showEndpoint(await readOwn(database, ctx));
  if (!endpoint.enabled) throw disabledError();
  const { user, req, service } = ctx;
  const args = { user, action: 'webhook', doc: undefined, req, service };
  if (endpoint.scope === 'global' && !(await allows(settings.globalPolicy, args, false))) {
    throw new ApiError('FORBIDDEN', 'You are not allowed to have a webhook of scope "global"');
  }
  return endpoint;
}
