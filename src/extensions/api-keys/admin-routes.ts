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
import { type ApiKeyRecord, type ApiKeyRow, ownedKeyShape, toKeyRecord } from './record.ts';
import { adminListSql, KEY_EXISTS } from './sql.ts';
import type { KeyStore } from './store.ts';

/** The fields of a key's owner in the admins' list. Name and e-mail are null if the account no longer exists. */
const OWNER = {
  selection: { fields: new Set(['name', 'email']), include: new Map() },
  defaults: { name: null, email: null },
};

type OwnedRow = [...ApiKeyRow, userId: string];

/** The resources whose records own keys; `organisations` is undefined in an app without them. */
interface KeyOwners {
  users: ResourceGateway;
  organisations: ResourceGateway | undefined;
}

/** The routes for admins to list and revoke the keys of all users and organisations. */
export function adminKeyRoutes(
  { database }: Pick<Host, 'database'>,
  { users, organisations }: KeyOwners,
  keys: KeyStore,
): Route[] {
  const common = { policy: 'admin', tags: ['api-keys'] };

  async function listKeysWithOwners(ctx: RouteContext) {
    const { status, user, limit } = parseListQuery(ctx.query);
    const rows = await database.readSlowly<OwnedRow>({ text: adminListSql(status), values: [user, limit] });
    const all = rows.map((row) => ({
      key: toKeyRecord(row.slice(0, -1) as ApiKeyRow),
      ownerId: row.at(-1) as string,
    }));
    const owners = await findOwners(all);
    return all.map(({ key, ownerId }) => ({
      ...key,
      owner: owners.get(ownerId) ?? { id: ownerId, ...OWNER.defaults },
    }));
  }

  async function findOwners(all: readonly { key: ApiKeyRecord; ownerId: string }[]): Promise<Map<string, object>> {
    const idsOf = (isOrganisation: boolean) =>
      new Set(all.filter(({ key }) => (key.as !== undefined) === isOrganisation).map(({ ownerId }) => ownerId));
    const load = (gateway: ResourceGateway | undefined, ids: Set<string>) =>
      gateway === undefined || ids.size === 0 ? [] : gateway.load([...ids]);
    const [people, groups] = await Promise.all([load(users, idsOf(false)), load(organisations, idsOf(true))]);
    return new Map<string, object>([
      ...people.map((record) => [record.id, markForSerialization(users.name, record, OWNER)] as const),
      ...groups.map(({ id, name }) => [id, { ...OWNER.defaults, id, name }] as const),
    ]);
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
