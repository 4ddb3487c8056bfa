import { ApiError, isId, type Viewer, validationError } from '../../../extension/index.ts';
import {
  createOrganisationLock,
  createOwnerCounter,
  findRole,
  type Membership,
  type MemberTransaction,
  type OrganisationContext,
} from './context.ts';
import { MEMBERSHIP } from './resources.ts';

/** A change of the members of an organisation. */
interface MemberChange {
  organisation: string;
  /** The user who makes the change, with the rights of their role at that moment; undefined: the system. */
  by: Viewer | undefined;
}

/** Changes the members of organisations. Every change is recorded as an event of the membership. */
export interface Members {
  /** Adds a user. Returns the existing membership, unchanged, if the user is a member. @throws ApiError LIMIT_REACHED or NOT_FOUND */
  add(member: { organisation: string; user: string; role: string }, tx: MemberTransaction): Promise<Membership>;
  /** @throws ApiError NOT_FOUND, FORBIDDEN, or CONFLICT for the last owner */
  changeRole(id: string, role: string, change: MemberChange, tx: MemberTransaction): Promise<Membership>;
  /** Removes a membership; with `by`, one's own without further rights. @throws ApiError NOT_FOUND, FORBIDDEN, or CONFLICT for the last owner */
  remove(id: string, change: MemberChange, tx: MemberTransaction): Promise<void>;
}

const LOCK_USER = `select pg_advisory_xact_lock(hashtextextended('organisations:' || $1, 0))`;

/** The error for a change after which an organisation would have no owner. */
function lastOwnerError(): ApiError {
  return new ApiError('CONFLICT', 'This is the last owner of the organisation; make another member an owner first');
}

export function createMembers(context: OrganisationContext): Members {
  const { settings, roles } = context;
  const lock = createOrganisationLock(context);
  const countOwners = createOwnerCounter(context);

  /** @throws ApiError VALIDATION_ERROR for an unknown role */
  function assertRole(role: string): void {
    if (!roles.all.includes(role)) throw validationError({ role: `Must be one of: ${roles.all.join(', ')}` });
  }

  async function findMembership(id: string, organisation: string, tx: MemberTransaction): Promise<Membership> {
    const found = isId(id)
      ? ((await tx.service(MEMBERSHIP).first({ id, organisation }, { as: 'system' })) as Membership | undefined)
      : undefined;
    if (found === undefined) throw new ApiError('NOT_FOUND');
    return found;
  }

  /** Checks that the user may manage a membership with one of these roles. Read in the transaction: the user may just have lost the right. */
  async function assertManages({ by, organisation }: MemberChange, held: readonly string[], tx: MemberTransaction) {
    if (by === undefined) return;
    const own = await findRole(context, by, organisation, tx.service);
    if (own === undefined) throw new ApiError('NOT_FOUND');
    if (!roles.manages(own)) throw new ApiError('FORBIDDEN');
    if (held.some((role) => !roles.includes(own, role)))
      throw new ApiError(
        'FORBIDDEN',
        `Your role does not allow you to give, change or remove this role: ${held.at(-1)}`,
      );
  }

  async function assertOwnerRemains(organisation: string, { role }: Membership, tx: MemberTransaction): Promise<void> {
    if (role === roles.owner && (await countOwners(organisation, tx.database)) <= 1) throw lastOwnerError();
  }

  return {
    async add({ organisation, user, role }, tx) {
      assertRole(role);
      await lock(organisation, tx.database);
      const service = tx.service(MEMBERSHIP);
      // A user who joins several organisations at once must not exceed the limit.
      await tx.database.write({ text: LOCK_USER, values: [user] });
      const existing = await service.first({ organisation, user }, { as: 'system' });
      if (existing !== undefined) return existing as Membership;
      if ((await service.count({ organisation }, { as: 'system' })) >= settings.maxMembers)
        throw new ApiError(
          'LIMIT_REACHED',
          `The organisation has ${settings.maxMembers} members, the maximum; a manager must remove one first`,
        );
      if ((await service.count({ user }, { as: 'system' })) >= settings.maxOrganisationsPerUser)
        throw new ApiError(
          'LIMIT_REACHED',
          `A user can be a member of at most ${settings.maxOrganisationsPerUser} organisations; leave one first`,
        );
      return (await service.create({ organisation, user, role }, { as: 'system' })) as Membership;
    },
    async changeRole(id, role, change, tx) {
      assertRole(role);
      await lock(change.organisation, tx.database);
      const membership = await findMembership(id, change.organisation, tx);
      await assertManages(change, [membership.role, role], tx);
      if (membership.role === role) return membership;
      await assertOwnerRemains(change.organisation, membership, tx);
      return (await tx.service(MEMBERSHIP).update(id, { role }, { as: 'system' })) as Membership;
    },
    async remove(id, change, tx) {
      await lock(change.organisation, tx.database);
      const membership = await findMembership(id, change.organisation, tx);
      if (membership.user !== change.by?.id) await assertManages(change, [membership.role], tx);
      await assertOwnerRemains(change.organisation, membership, tx);
      await tx.service(MEMBERSHIP).delete(id, { as: 'system' });
    },
  };
}
