import {
  createDeletedUsersConsumer,
  createRetentionSweep,
  type Database,
  defineOwnedTable,
  type FeatureParts,
  type Host,
  type ResourceGateway,
  type RevocationStep,
  type Sweep,
  tablesOf,
} from '../../extension/index.ts';
import {
  ENROLMENT_LIFETIME,
  REMOVE_FACTORS,
  REMOVE_FACTORS_CONFIRMED_SINCE,
  removeFactorsOfMissingUsersSql,
  removeOrphanedFactorsSql,
  twoFactorChallenges,
  twoFactors,
} from './sql.ts';

// Rare, because the sweep reads every factor, and only soft delete leaves factors without a user.
const ORPHANED_FACTORS_EVERY_MS = 10 * 60_000;

const ownedFactors = defineOwnedTable(twoFactors);
/** The logins that wait for a code, as rows of users. Uses two_factor_challenges_user_id_index. */
export const ownedChallenges = defineOwnedTable(twoFactorChallenges);

/** Creates the sweeps that remove expired logins, unconfirmed enrolments, and factors of users who can no longer be restored. */
function createTwoFactorSweeps(database: Pick<Database, 'write'>, users: ResourceGateway): Sweep[] {
  const expired = createRetentionSweep(database, {
    name: 'two-factor: expired logins and enrolments',
    // The second removal uses two_factors_unconfirmed_index.
    removals: [
      { table: twoFactorChallenges },
      { table: twoFactors, column: 'created_at', keep: ENROLMENT_LIFETIME, where: 'confirmed_at is null' },
    ],
  });
  if (users.archiveTable === undefined) return [expired];
  const withoutUser = createRetentionSweep(database, {
    name: 'two-factor: factors without a user',
    everyMs: ORPHANED_FACTORS_EVERY_MS,
    removals: [{ text: removeOrphanedFactorsSql(tablesOf(users)) }],
  });
  return [expired, withoutUser];
}

type RemovedFactor = [userId: string, wasConfirmed: boolean];

/**
 * Creates the step that ends the users' logins that wait for a code. The factor stays, because it does not grant access, unless an attacker
 * may have added it: then `security.two_factor_disabled` is emitted with the cause as its reason.
 */
function createFactorRevocation({ events }: Pick<Host, 'events'>): RevocationStep {
  return async ({ cause, userIds, since, ip }, tx) => {
    if (cause === 'key_revoked') return;
    const removals = {
      account_claimed: { text: REMOVE_FACTORS, values: [userIds] },
      email_change_undone: { text: REMOVE_FACTORS_CONFIRMED_SINCE, values: [userIds, since] },
    };
    const removal = removals[cause as keyof typeof removals];
    // The factors before the logins, as a login with a code locks them: a different order could deadlock.
    const removed = removal === undefined ? [] : await tx.database.write<RemovedFactor>(removal);
    await ownedChallenges.remove(tx.database, userIds);
    for (const [userId, wasConfirmed] of removed) {
      if (!wasConfirmed) continue;
      tx.afterCommit(() => events.emit('security.two_factor_disabled', { userId, by: userId, reason: cause, ip }));
    }
  };
}

/** Creates the parts that revoke, remove and export the rows of users. Factors of deleted users stay while the users can be restored. */
export function createTwoFactorRowParts(host: Pick<Host, 'database' | 'events'>, users: ResourceGateway) {
  const { database } = host;
  return {
    revocationStep: createFactorRevocation(host),
    consumers: [createDeletedUsersConsumer(users, removeFactorsOfMissingUsersSql(tablesOf(users)), ownedChallenges)],
    sweeps: createTwoFactorSweeps(database, users),
    userData: [
      ownedFactors.describe(database, {
        name: 'twoFactors',
        description: 'Two-factor login: whether it is on, without its secrets',
        exported: ['createdAt', 'confirmedAt', ['recoveryCodesLeft', 'cardinality(recovery_codes)']],
        also: [ownedChallenges],
      }),
    ],
  } satisfies FeatureParts;
}
