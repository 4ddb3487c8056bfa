import { type Accounts, ApiError, type Host, isId, type Route, type RouteContext } from '../../extension/index.ts';
import { createKeySchema, type NewKeyInput } from './input.ts';
import { type ApiKeyRow, keyShape, newKeyShape, scopeShape, toKeyRecord } from './record.ts';
import type { Scopes } from './scopes.ts';
import type { ApiKeySettings } from './settings.ts';
import { LIST_KEYS_OF_OWNER } from './sql.ts';
import type { KeyStore } from './store.ts';

/** What the response to a new key says about it. */
export const KEY_NOTE = 'Copy the key now: it is not shown again.';

/** The routes for users to create, list and revoke their keys. They require a session; API keys are not accepted. */
export function ownKeyRoutes(
  { database }: Pick<Host, 'database'>,
  accounts: Pick<Accounts, 'confirmNewCredential'>,
  keys: KeyStore,
  scopes: () => Scopes,
  settings: ApiKeySettings,
): Route[] {
  const tags = ['api-keys'];

  async function createKey(ctx: RouteContext<NewKeyInput>) {
    // The policy setting may admit anonymous callers, but a key needs an owner.
    if (ctx.user === undefined) throw new ApiError('UNAUTHORIZED');
    await accounts.confirmNewCredential(ctx, ctx.input.code);
    const created = await keys.create(ctx);
    ctx.res.setHeader('Cache-Control', 'no-store');
    return { ...created, note: KEY_NOTE };
  }

  async function listOwnKeys(ctx: RouteContext) {
    const rows = await database.read<ApiKeyRow>({
      name: 'api_key_list',
      text: LIST_KEYS_OF_OWNER,
      values: [ctx.user!.id],
    });
    return rows.map(toKeyRecord);
  }

  async function revokeOwnKey(ctx: RouteContext): Promise<void> {
    const { id } = ctx.params;
    const owner = ctx.user!.id;
    if (!isId(id) || !(await keys.revoke(id, { reason: 'user', by: owner }, owner))) throw new ApiError('NOT_FOUND');
  }

  return [
    {
      method: 'POST',
      path: '/auth/api-keys',
      policy: settings.policy,
      recentSignIn: settings.recentSignIn,
      summary: 'Create an API key; the key is only returned here',
      input: createKeySchema(settings, scopes),
      description:
        'A user with a second factor sends a code, or has confirmed the factor on the session within the last 10 minutes.',
      output: newKeyShape,
      errors: ['FORBIDDEN', 'API_KEY_LIMIT', 'RATE_LIMITED', 'RECENT_SIGN_IN_REQUIRED'],
      status: 201,
      operationId: 'createApiKey',
      tags,
      handler: createKey,
    },
    {
      method: 'GET',
      path: '/auth/api-keys',
      summary: 'List your active and expired API keys, newest first',
      output: keyShape.array(),
      errors: [],
      operationId: 'listMyApiKeys',
      tags,
      handler: listOwnKeys,
    },
    {
      method: 'DELETE',
      path: '/auth/api-keys/:id',
      summary: 'Revoke one of your API keys; it stops working at once',
      errors: ['NOT_FOUND'],
      status: 204,
      operationId: 'revokeMyApiKey',
      tags,
      handler: revokeOwnKey,
    },
    {
      method: 'GET',
      path: '/auth/api-keys/scopes',
      summary: 'List every scope that an API key can have',
      output: scopeShape.array(),
      errors: [],
      operationId: 'listApiKeyScopes',
      tags,
      handler: () => Array.from(scopes().all, ([scope, description]) => ({ scope, description })),
    },
  ];
}
