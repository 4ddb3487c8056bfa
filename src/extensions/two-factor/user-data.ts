import { createDeletedUsersConsumer } from '../../accounts/users/user-state.ts';
import type { RevocationStep } from '../../declare/accounts.ts';
import type { ResourceGateway, UserData } from '../../declare/host.ts';
import { createRetentionSweep } from '../../platform/leased-work/sweeps.ts';
import type { OutboxConsumer } from '../../platform/outbox/consumer.ts';
import type { Sweep } from '../../platform/outbox/relay.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { readRowsInPages } from '../../platform/postgres/scan.ts';
import { tablesOf } from '../../records/schema/table-names.ts';
import {
  REMOVE_CHALLENGES,
  REMOVE_EXPIRED_CHALLENGES,
  REMOVE_FACTORS,
  REMOVE_FACTORS_CONFIRMED_SINCE,
  REMOVE_UNCONFIRMED,
  removeFactorsOfMissingUsersSql,
  removeOrphanedFactorsSql,
} from './sql.ts';

const ROWS = `
  select created_at::text, created_at, confirmed_at, cardinality(recovery_codes) from two_factors
  where user_id = $1 and created_at::text > $2 limit $3`;
const REMOVE = 'delete from two_factors where user_id = $1 returning 1';

/** Describes the second factor of a user and the logins that wait for it, for exports and erasures. */
export function twoFactorUserData(database: Database): UserData {
  return {
    name: 'twoFactors',
    description: 'Two-factor login: whether it is on, without its secrets',
    tables: ['two_factors', 'two_factor_challenges'],
    async *rows(userId) {
      for await (const { createdAt, confirmedAt, recoveryCodesLeft } of readRowsInPages(
        database,
        ROWS,
        ['key', 'createdAt', 'confirmedAt', 'recoveryCodesLeft'],
        [userId],
      )) {
        yield { createdAt, confirmedAt, recoveryCodesLeft };
      }
    },
    async erase(userId) {
      await database.write({ text: REMOVE_CHALLENGES, values: [[userId]] });
      return (await database.write({ text: REMOVE, values: [userId] })).length;
    },
  };
}

// Rare, because the sweep reads every factor, and only soft delete leaves factors without a user.
const ORPHANED_FACTORS_EVERY_MS = 10 * 60_000;

/** Creates the sweeps that remove expired logins, unconfirmed enrolments, and factors of users who can no longer be restored. */
export function createTwoFactorSweeps(database: Pick<Database, 'write'>, users: ResourceGateway): Sweep[] {
  const expired = createRetentionSweep(database, {
    name: 'two-factor: expired logins and enrolments',
    removals: [{ text: REMOVE_EXPIRED_CHALLENGES }, { text: REMOVE_UNCONFIRMED }],
  });
  if (users.archiveTable === undefined) return [expired];
  const withoutUser = createRetentionSweep(database, {
    name: 'two-factor: factors without a user',
    everyMs: ORPHANED_FACTORS_EVERY_MS,
    removals: [{ text: removeOrphanedFactorsSql(tablesOf(users)) }],
  });
  return [expired, withoutUser];
}

/** Ends the users' logins that wait for a code. The factor stays, because it does not grant access, unless another person may have added it. */
export const removeFactorsOnRevocation: RevocationStep = async ({ cause, userIds, since }, tx) => {
  if (cause === 'key_revoked') return;
  await tx.database.write({ text: REMOVE_CHALLENGES, values: [userIds] });
  // The factor may belong to a thief, or to the person who registered the address of another person.
  if (cause === 'account_claimed') await tx.database.write({ text: REMOVE_FACTORS, values: [userIds] });
  if (cause === 'email_change_undone')
    await tx.database.write({ text: REMOVE_FACTORS_CONFIRMED_SINCE, values: [userIds, since] });
};

/** Creates the relay consumer that removes the second factors of deleted users who cannot be restored. */
export function createFactorRemovalConsumer(users: ResourceGateway): OutboxConsumer {
  return createDeletedUsersConsumer(users, removeFactorsOfMissingUsersSql(tablesOf(users)), REMOVE_CHALLENGES);
}
