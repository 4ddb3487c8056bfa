import type { Host } from '../../declare/host.ts';
import type { Route, RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/errors.ts';
import { isId } from '../../platform/ids.ts';
import { createSchema } from './input.ts';
import type { Keys } from './keys.ts';
import { keyShape, newKeyShape, scopeShape } from './output.ts';
import { type ApiKeyRow, showKey } from './record.ts';
import type { Scopes } from './scopes.ts';
import type { ApiKeySettings } from './settings.ts';
import { LIST } from './sql.ts';

const NOTE = 'Copy the key now: it is not shown again.';

/** The routes by which users make, see and revoke their keys. No key opens them: only a session does. */
export function ownKeyRoutes(
  { database }: Pick<Host, 'database'>,
  keys: Keys,
  scopes: () => Scopes,
  settings: ApiKeySettings,
): Route[] {
  const tags = ['api-keys'];

  async function create(ctx: RouteContext) {
    // A policy may let the signed-out in, but a key needs an owner.
    if (ctx.user === undefined) throw new ApiError('UNAUTHORIZED');
    const made = await keys.create(ctx);
    ctx.res.setHeader('Cache-Control', 'no-store');
    return { ...made, note: NOTE };
  }

  async function list(ctx: RouteContext) {
    const rows = await database.read<ApiKeyRow>({ name: 'api_key_list', text: LIST, values: [ctx.user!.id] });
    return rows.map(showKey);
  }

  async function revoke(ctx: RouteContext): Promise<void> {
    const { id } = ctx.params;
    const owner = ctx.user!.id;
    if (!isId(id) || !(await keys.revoke(id, { reason: 'user', by: owner }, owner))) throw new ApiError('NOT_FOUND');
  }

  return [
    {
      method: 'POST',
      path: '/auth/api-keys',
      policy: settings.policy,
      summary: 'Make an API key; it is shown this once',
      input: createSchema(settings, scopes),
      output: newKeyShape,
      errors: ['FORBIDDEN', 'API_KEY_LIMIT'],
      status: 201,
      operationId: 'createApiKey',
      tags,
      handler: create,
    },
    {
      method: 'GET',
      path: '/auth/api-keys',
      summary: 'Your API keys that are active or expired, newest first',
      output: keyShape.array(),
      errors: [],
      operationId: 'listMyApiKeys',
      tags,
      handler: list,
    },
    {
      method: 'DELETE',
      path: '/auth/api-keys/:id',
      summary: 'Revoke an API key of yours; it stops working at once',
      errors: ['NOT_FOUND'],
      status: 204,
      operationId: 'revokeMyApiKey',
      tags,
      handler: revoke,
    },
    {
      method: 'GET',
      path: '/auth/api-keys/scopes',
      summary: 'Every scope that an API key can have',
      output: scopeShape.array(),
      errors: [],
      operationId: 'listApiKeyScopes',
      tags,
      handler: () => Array.from(scopes().all, ([scope, description]) => ({ scope, description })),
    },
  ];
}
