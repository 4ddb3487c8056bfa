import type { Host, ResourceGateway } from '../../declare/host.ts';
import type { Route, RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/errors.ts';
import { isId } from '../../platform/ids.ts';
import { listQueryShape, readListQuery } from './input.ts';
import { type ApiKeyRow, ownedKeyShape, toKeyRecord } from './record.ts';
import { EXISTS, listAllSql } from './sql.ts';
import type { Keys } from './store.ts';

type OwnedRow = [...ApiKeyRow, userId: string];

/** The routes for admins to list and revoke the keys of all users. */
export function adminKeyRoutes({ database }: Pick<Host, 'database'>, users: ResourceGateway, keys: Keys): Route[] {
  const common = { policy: 'admin', tags: ['api-keys'] };

  /** Returns the owners by id, serialized for the admin. */
  async function ownersOf(rows: readonly OwnedRow[], ctx: RouteContext) {
    const records = await users.load([...new Set(rows.map((row) => row.at(-1) as string))]);
    const serialized = await users.serialize(records, { user: ctx.user, req: ctx.req });
    return new Map(records.map(({ id }, i) => [id, serialized[i]!]));
  }

  async function list(ctx: RouteContext) {
    const { status, user, limit } = readListQuery(ctx.query);
    const rows = await database.readSlowly<OwnedRow>({ text: listAllSql(status), values: [user, limit] });
    const owners = rows.length === 0 ? undefined : await ownersOf(rows, ctx);
    return rows.map((row) => {
      const id = row.at(-1) as string;
      const { name = null, email = null } = owners?.get(id) ?? {};
      return { ...toKeyRecord(row.slice(0, -1) as ApiKeyRow), owner: { id, name, email } };
    });
  }

  async function revoke(ctx: RouteContext): Promise<void> {
    const { id } = ctx.params;
    if (!isId(id)) throw new ApiError('NOT_FOUND');
    if (await keys.revoke(id, { reason: 'admin', by: ctx.user!.id })) return;
    // Revoking a revoked key again succeeds.
    if ((await database.read({ text: EXISTS, values: [id] })).length === 0) throw new ApiError('NOT_FOUND');
  }

  return [
    {
      ...common,
      method: 'GET',
      path: '/admin/api-keys',
      summary: 'API keys of all users with their owners, newest first; revoked and expired ones for 30 days',
      queryShape: listQueryShape,
      output: ownedKeyShape.array(),
      errors: [],
      operationId: 'listApiKeys',
      handler: list,
    },
    {
      ...common,
      method: 'DELETE',
      path: '/admin/api-keys/:id',
      summary: 'Revoke any API key; it stops working at once',
      errors: ['NOT_FOUND'],
      status: 204,
      operationId: 'revokeApiKey',
      handler: revoke,
    },
  ];
}
