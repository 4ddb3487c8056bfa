import {
  ApiError,
  type Host,
  isId,
  markForSerialization,
  type ResourceGateway,
  type Route,
  type RouteContext,
} from '../../extension/index.ts';
import { listQueryShape, parseListQuery } from './input.ts';
import { type ApiKeyRow, ownedKeyShape, toKeyRecord } from './record.ts';
import { adminListSql, KEY_EXISTS } from './sql.ts';
import type { KeyStore } from './store.ts';

/** The fields of a key's owner in the admins' list. Name and e-mail are null if the account no longer exists. */
const OWNER = {
  selection: { fields: new Set(['name', 'email']), include: new Map() },
  defaults: { name: null, email: null },
};

type OwnedRow = [...ApiKeyRow, userId: string];

/** The routes for admins to list and revoke the keys of all users. */
export function adminKeyRoutes({ database }: Pick<Host, 'database'>, users: ResourceGateway, keys: KeyStore): Route[] {
  const common = { policy: 'admin', tags: ['api-keys'] };

  async function listKeysWithOwners(ctx: RouteContext) {
    const { status, user, limit } = parseListQuery(ctx.query);
    const rows = await database.readSlowly<OwnedRow>({ text: adminListSql(status), values: [user, limit] });
    const ownerIds = new Set(rows.map((row) => row.at(-1) as string));
    const records = ownerIds.size === 0 ? [] : await users.load([...ownerIds]);
    const owners = new Map(records.map((record) => [record.id, markForSerialization(users.name, record, OWNER)]));
    return rows.map((row) => {
      const id = row.at(-1) as string;
      const key = toKeyRecord(row.slice(0, -1) as ApiKeyRow);
      return { ...key, owner: owners.get(id) ?? { id, ...OWNER.defaults } };
    });
  }

  async function revokeAnyKey(ctx: RouteContext): Promise<void> {
    const { id } = ctx.params;
    if (!isId(id)) throw new ApiError('NOT_FOUND');
    if (await keys.revoke(id, { reason: 'admin', by: ctx.user!.id })) return;
    // Revoking a revoked key again succeeds.
    if ((await database.read({ text: KEY_EXISTS, values: [id] })).length === 0) throw new ApiError('NOT_FOUND');
  }

  return [
    {
      ...common,
      method: 'GET',
      path: '/admin/api-keys',
      summary: 'List the API keys of all users, newest first; revoked and expired keys are listed for 30 days',
      queryShape: listQueryShape,
      output: ownedKeyShape.array(),
      errors: [],
      operationId: 'listApiKeys',
      handler: listKeysWithOwners,
    },
    {
      ...common,
      method: 'DELETE',
      path: '/admin/api-keys/:id',
      summary: 'Revoke any API key; it stops working at once',
      errors: ['NOT_FOUND'],
      status: 204,
      operationId: 'revokeApiKey',
      handler: revokeAnyKey,
    },
  ];
}
