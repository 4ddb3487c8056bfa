import type { StoredRecord } from '../../declare/host.ts';
import type { RouteContext } from '../../declare/route.ts';
import type { Transaction } from '../../declare/service.ts';
import { validationError } from '../../platform/errors.ts';
import type { Membership, OrganisationContext } from './context.ts';
import { createDeleteOrganisation } from './deletion.ts';
import { createMembers } from './members.ts';
import { ORGANISATION } from './resources.ts';
import type { OrganisationOperations } from './routes.ts';

/** `app.organisations`: organisations and their members, for code. It acts as the system: everything is validated, no role is needed. */
export interface OrganisationsApi {
  /**
   * Creates an organisation.
   *
   * @param values the fields of the organisation; without a slug, it gets one
   * @param owner the id of the user who becomes its owner
   * @throws ApiError VALIDATION_ERROR; CONFLICT if the slug is taken; LIMIT_REACHED
   * @example await app.organisations.create({ name: 'Acme' }, user.id)
   */
  create(values: Readonly<Record<string, unknown>>, owner: string): Promise<StoredRecord>;
  /**
   * Adds a user. Returns the existing membership, unchanged, if the user is a member.
   *
   * @param role default: the least powerful role
   * @throws ApiError NOT_FOUND, VALIDATION_ERROR or LIMIT_REACHED
   */
  addMember(organisation: string, user: string, role?: string): Promise<StoredRecord>;
  /** Changes a role. @param membership the id of the membership @throws ApiError NOT_FOUND; CONFLICT for the last owner */
  changeRole(organisation: string, membership: string, role: string): Promise<StoredRecord>;
  /** Removes a member. @param membership the id of the membership @throws ApiError NOT_FOUND; CONFLICT for the last owner */
  removeMember(organisation: string, membership: string): Promise<void>;
  /** Deletes an organisation. Its records become unreachable at once, and are deleted in the background. @throws ApiError NOT_FOUND */
  delete(organisation: string): Promise<void>;
}

/** Creates the operations on organisations, for routes and for code. */
export function createOrganisationsApi(context: OrganisationContext): {
  api: OrganisationsApi;
  operations: OrganisationOperations;
} {
  const { host, roles, users } = context;
  const members = createMembers(context);
  const remove = createDeleteOrganisation(context);

  async function create(
    input: unknown,
    ctx: Partial<Pick<RouteContext, 'user' | 'req'>>,
    owner: string,
    tx: Transaction,
  ) {
    const as =
      ctx.user === undefined ? ({ as: 'system' } as const) : ({ as: 'user', user: ctx.user, req: ctx.req } as const);
    const organisation: StoredRecord = await tx.service(ORGANISATION).create(input as object, as);
    await members.add({ organisation: organisation.id, user: owner, role: roles.owner }, tx);
    return organisation;
  }

  async function assertUserExists(id: string): Promise<void> {
    if ((await users.load([id])).length === 0) throw validationError({ user: 'No such user' });
  }

  return {
    operations: { members, remove, create: (input, ctx, tx) => create(input, ctx, ctx.user!.id, tx) },
    api: {
      async create(values, owner) {
        await assertUserExists(owner);
        return host.transaction((tx) => create(values, {}, owner, tx));
      },
      async addMember(organisation, user, role = roles.least) {
        await assertUserExists(user);
        return host.transaction((tx) => members.add({ organisation, user, role }, tx)) as Promise<Membership>;
      },
      changeRole: (organisation, membership, role) =>
        members.changeRole(membership, role, { organisation, by: undefined }),
      removeMember: (organisation, membership) => members.remove(membership, { organisation, by: undefined }),
      delete: (organisation) => remove(organisation, undefined),
    },
  };
}
