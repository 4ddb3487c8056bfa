import type { RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/errors.ts';
import { isId } from '../../platform/ids.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { EndpointRow } from './endpoint.ts';
import { READ } from './sql/endpoints.ts';

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
