import {
  ApiError,
  defineOwnedTable,
  type Executor,
  isAddressedToUserSql,
  quoteIdentifier,
  type RevocationStep,
  type UserData,
} from '../../extension/index.ts';
import type { InvitationContext } from './invitations/invite.ts';
import { type OrganisationContext, remainingMemberSql } from './membership/context.ts';
import { organisationInvitations } from './tables.ts';

/** Maximum organisations that an error names. */
const MAX_NAMED = 10;

/**
 * Refuses the deletion of users who are the last owners of organisations. Locks the organisations, so that the other owners cannot leave
 * meanwhile.
 *
 * @throws ApiError CONFLICT naming the organisations
 */
type AssertNotLastOwner = (users: readonly string[], tx: Executor) => Promise<void>;

export function createLastOwnerCheck(
  context: Pick<OrganisationContext, 'users' | 'organisations' | 'memberships' | 'roles'>,
): AssertNotLastOwner {
  const { organisations, memberships, roles } = context;
  const [groups, members] = [quoteIdentifier(organisations.table), quoteIdentifier(memberships.table)];
  // Uses the indexes of memberships by user and by organisation.
  const lock = `
    select id from ${groups} where id in (select organisation from ${members} where "user" = any($1) and role = $2)
    order by id for update`;
  const find = `
    select o.slug from ${groups} o where o.id = any($1) and not exists (
      select from ${members} m where m.organisation = o.id and m.role = $3 and not (m."user" = any($2))
        and ${remainingMemberSql(context)}
    ) order by o.slug limit ${MAX_NAMED}`;
  return async (users, tx) => {
    const locked = await tx.write<[id: string]>({ text: lock, values: [users, roles.owner] });
    if (locked.length === 0) return;
    const values = [locked.map(([id]) => id), users, roles.owner];
    const slugs = (await tx.write<[slug: string]>({ text: find, values })).map(([slug]) => slug);
    if (slugs.length === 0) return;
    throw new ApiError(
      'CONFLICT',
      `The user is the last owner of these organisations: ${slugs.join(', ')}. Make another member an owner, or delete the organisations, first`,
    );
  };
}

/** Creates the step that removes deleted users from their organisations, and ends the invitations that they sent. */
export function createDepartureStep(
  { memberships, invitations }: Pick<InvitationContext, 'memberships' | 'invitations'>,
  assertNotLastOwner: AssertNotLastOwner,
): RevocationStep {
  const leave = `delete from ${quoteIdentifier(memberships.table)} where "user" = any($1)`;
  return async ({ cause, userIds }, { database }) => {
    if (cause !== 'user_deleted') return;
    await assertNotLastOwner(userIds, database);
    await database.write({ text: leave, values: [userIds] });
    await invitations.store.removeOfInviters(userIds, database);
  };
}

const ownedInvitations = defineOwnedTable(organisationInvitations, { owners: ['invitedBy', 'acceptedBy'] });

/** Describes the invitations of a user, for exports and erasures. Memberships are records that the user owns. */
export function organisationUserData(
  { host: { database }, users }: Pick<OrganisationContext, 'host' | 'users'>,
  assertNotLastOwner: AssertNotLastOwner,
): UserData {
  return {
    ...ownedInvitations.describe(database, {
      name: 'organisationInvitations',
      description: 'Invitations to organisations that the user sent or accepted, or that were sent to their address',
      exported: ['id', 'organisation', 'email', 'role', 'invitedBy', 'createdAt', 'acceptedAt'],
      alsoOwned: isAddressedToUserSql(users),
    }),
    assertErasable: (userId, tx) => assertNotLastOwner([userId], tx.database),
  };
}
