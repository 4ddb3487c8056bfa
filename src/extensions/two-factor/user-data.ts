import { createDeletedUsersConsumer } from '../../accounts/users/user-state.ts';
import type { RevocationStep } from '../../declare/accounts.ts';
import type { Host, ResourceGateway, UserData } from '../../declare/host.ts';
import type { Database } from '../../platform/data/postgres/database.ts';
import { readRowsInPages } from '../../platform/data/postgres/scan.ts';
import { createRetentionSweep } from '../../platform/work/leased-work/sweeps.ts';
import type { OutboxConsumer } from '../../platform/work/outbox/consumer.ts';
import type { Sweep } from '../../platform/work/outbox/relay.ts';
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

type RemovedFactor = [userId: string, wasConfirmed: boolean];

/**
 * Creates the step that ends the users' logins that wait for a code. The factor stays, because it does not grant access, unless an attacker
 * may have added it: then `security.two_factor_disabled` is emitted with the cause as its reason.
 */
export function createFactorRevocation({ events }: Pick<Host, 'events'>): RevocationStep {
  return async ({ cause, userIds, since, ip }, tx) => {
    if (cause === 'key_revoked') return;
    const removals = {
      account_claimed: { text: REMOVE_FACTORS, values: [userIds] },
      email_change_undone: { text: REMOVE_FACTORS_CONFIRMED_SINCE, values: [userIds, since] },
    };
    const removal = removals[cause as keyof typeof removals];
    // The factors before the logins, as a login with a code locks them: a different order could deadlock.
    const removed = removal === undefined ? [] : await tx.database.write<RemovedFactor>(removal);
    await tx.database.write({ text: REMOVE_CHALLENGES, values: [userIds] });
    for (const [userId, wasConfirmed] of removed) {
      if (!wasConfirmed) continue;
      tx.afterCommit(() => events.emit('security.two_factor_disabled', { userId, by: userId, reason: cause, ip }));
    }
  };
}

/** Creates the relay consumer that removes the second factors of deleted users who cannot be restored. */
export function createFactorRemovalConsumer(users: ResourceGateway): OutboxConsumer {
  return createDeletedUsersConsumer(users, removeFactorsOfMissingUsersSql(tablesOf(users)), REMOVE_CHALLENGES);
}
