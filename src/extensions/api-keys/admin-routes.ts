import type { Host, ResourceGateway } from '../../declare/host.ts';
import type { Route, RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/errors.ts';
import { isId } from '../../platform/ids.ts';
import { listQueryShape, readListQuery } from './input.ts';
import type { Keys } from './keys.ts';
import { ownedKeyShape } from './output.ts';
import { type ApiKeyRow, showKey } from './record.ts';
import { EXISTS, listAll } from './sql.ts';

type OwnedRow = [...ApiKeyRow, userId: string];

/** The routes by which admins see and revoke everybody's keys. */
export function adminKeyRoutes({ database }: Pick<Host, 'database'>, users: ResourceGateway, keys: Keys): Route[] {
  const common = { policy: 'admin', tags: ['api-keys'] };

  /** Owners by id, as the admin who asks would see them. */
  async function ownersOf(rows: readonly OwnedRow[], ctx: RouteContext) {
    const records = await users.load([...new Set(rows.map((row) => row.at(-1) as string))]);
    const shown = await users.serialize(records, { user: ctx.user, req: ctx.req });
    return new Map(records.map(({ id }, i) => [id, shown[i]!]));
  }

  async function list(ctx: RouteContext) {
    const { status, user, limit } = readListQuery(ctx.query);
    const rows = await database.readSlowly<OwnedRow>({ text: listAll(status), values: [user, limit] });
    const owners = rows.length === 0 ? undefined : await ownersOf(rows, ctx);
    return rows.map((row) => {
      const id = row.at(-1) as string;
      const { name = null, email = null } = owners?.get(id) ?? {};
      return { ...showKey(row.slice(0, -1) as ApiKeyRow), owner: { id, name, email } };
    });
  }

  async function revoke(ctx: RouteContext): Promise<void> {
    const { id } = ctx.params;
    if (!isId(id)) throw new ApiError('NOT_FOUND');
    if (await keys.revoke(id, { reason: 'admin', by: ctx.user!.id })) return;
    // One that was revoked before stays in the list, and is as it should be.
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
