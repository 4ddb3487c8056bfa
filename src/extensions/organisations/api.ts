import { isId, type RouteContext, type Services, type StoredRecord, validationError } from '../../extension/index.ts';
import { createDeleteOrganisation } from './deletion.ts';
import type { Membership, MemberTransaction, OrganisationContext } from './membership/context.ts';
import { createMembers } from './membership/members.ts';
import { MEMBERSHIP, ORGANISATION } from './membership/resources.ts';
import type { OrganisationOperations } from './routes.ts';

/**
 * The context in which code calls: the `tx` of `app.transaction`, or the `ctx` of a hook or a route. In a transaction and in a `before` hook, the call
 * becomes part of that transaction.
 */
type Within = { readonly service: unknown };

/**
 * `app.organisations`: organisations and their members, for code. It acts as the system: everything is validated, no role is needed. In a
 * transaction or a `before` hook, pass its `tx` or `ctx` as the last argument.
 */
export interface OrganisationsApi {
  /**
   * Returns the role of a user in an organisation; undefined if the user is not a member.
   *
   * @param user the id of the user
   * @param organisation the id of the organisation
   * @example if ((await app.organisations.roleOf(user.id, ticket.organisation)) === 'owner') { … }
   */
  roleOf(user: string, organisation: string, within?: Within): Promise<string | undefined>;
  /**
   * The memberships of an organisation, the oldest first. They are read in pages.
   *
   * @example for await (const { user, role } of app.organisations.members(organisation)) { … }
   */
  members(organisation: string, within?: Within): AsyncIterable<Membership>;
  /**
   * Creates an organisation.
   *
   * @param values the fields of the organisation; without a slug, it gets one
   * @param owner the id of the user who becomes its owner
   * @throws ApiError VALIDATION_ERROR; CONFLICT if the slug is taken; LIMIT_REACHED
   * @example await app.organisations.create({ name: 'Acme' }, user.id)
   */
  create(values: Readonly<Record<string, unknown>>, owner: string, within?: Within): Promise<StoredRecord>;
  /**
   * Adds a user. Returns the existing membership, unchanged, if the user is a member.
   *
   * @param role undefined: the least powerful role
   * @throws ApiError NOT_FOUND, VALIDATION_ERROR or LIMIT_REACHED
   * @example await app.organisations.addMember(organisation.id, user.id, 'admin', tx)
   */
  addMember(organisation: string, user: string, role?: string, within?: Within): Promise<Membership>;
  /** Changes a role. @param membership the id of the membership @throws ApiError NOT_FOUND; CONFLICT for the last owner */
  changeRole(organisation: string, membership: string, role: string, within?: Within): Promise<Membership>;
  /** Removes a member. @param membership the id of the membership @throws ApiError NOT_FOUND; CONFLICT for the last owner */
  removeMember(organisation: string, membership: string, within?: Within): Promise<void>;
  /** Deletes an organisation. Its records become unreachable at once, and are deleted in the background. @throws ApiError NOT_FOUND */
  delete(organisation: string, within?: Within): Promise<void>;
}

/** Creates the operations on organisations, for routes and for code. */
export function createOrganisationsApi(context: OrganisationContext): {
  api: OrganisationsApi;
  operations: OrganisationOperations;
} {
  const { host, roles } = context;
  const members = createMembers(context);
  const remove = createDeleteOrganisation(context);
  const serviceOf = (within: Within | undefined) => (within?.service ?? host.service) as Services;

  /** Runs a change in the transaction of the calling code; outside of one, in its own. */
  async function change<T>(within: Within | undefined, work: (tx: MemberTransaction) => Promise<T>): Promise<T> {
    const current = host.currentTransaction();
    if (current === undefined) return host.transaction(work);
    if (within === undefined)
      throw new Error(
        'app.organisations was called inside a transaction or a before hook; pass its tx or ctx as the last argument',
      );
    return work({ ...current, service: serviceOf(within) });
  }

  async function create(
    input: unknown,
    ctx: Partial<Pick<RouteContext, 'user' | 'req'>>,
    owner: string,
    tx: MemberTransaction,
  ) {
    const as =
      ctx.user === undefined ? ({ as: 'system' } as const) : ({ as: 'user', user: ctx.user, req: ctx.req } as const);
    const organisation: StoredRecord = await tx.service(ORGANISATION).create(input as object, as);
    await members.add({ organisation: organisation.id, user: owner, role: roles.owner }, tx);
    return organisation;
  }

  /** @throws ApiError VALIDATION_ERROR */
  async function assertUserExists(id: string, tx: MemberTransaction): Promise<void> {
    if (!isId(id) || (await tx.service('user').count({ id }, { as: 'system' })) === 0)
      throw validationError({ user: 'No such user' });
  }

  // The memberships of a deleted organisation are deleted later, in the background.
  const inExistingOrganisation = { 'organisation.slug': { exists: true } };

  return {
    operations: { members, remove, create: (input, ctx, tx) => create(input, ctx, ctx.user!.id, tx) },
    api: {
      async roleOf(user, organisation, within) {
        if (!isId(user) || !isId(organisation)) return undefined;
        const query = { ...inExistingOrganisation, organisation, user };
        return ((await serviceOf(within)(MEMBERSHIP).first(query, { as: 'system' })) as Membership | undefined)?.role;
      },
      async *members(organisation, within) {
        if (!isId(organisation)) return;
        const query = { ...inExistingOrganisation, organisation, sort: 'id' };
        yield* serviceOf(within)(MEMBERSHIP).each(query, { as: 'system' }) as AsyncIterable<Membership>;
      },
      create: (values, owner, within) =>
        change(within, async (tx) => {
          await assertUserExists(owner, tx);
          return create(values, {}, owner, tx);
        }),
      addMember: (organisation, user, role = roles.least, within = undefined) =>
        change(within, async (tx) => {
          await assertUserExists(user, tx);
          return members.add({ organisation, user, role }, tx);
        }),
      changeRole: (organisation, membership, role, within) =>
        change(within, (tx) => members.changeRole(membership, role, { organisation, by: undefined }, tx)),
      removeMember: (organisation, membership, within) =>
        change(within, (tx) => members.remove(membership, { organisation, by: undefined }, tx)),
      delete: (organisation, within) => change(within, (tx) => remove(organisation, undefined, tx)),
    },
  };
}
