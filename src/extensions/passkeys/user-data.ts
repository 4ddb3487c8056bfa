import { createDeletedUsersConsumer } from '../../accounts/users/user-state.ts';
import type { RevocationStep } from '../../declare/accounts.ts';
import type { ResourceGateway, UserData } from '../../declare/host.ts';
import type { Database } from '../../platform/data/postgres/database.ts';
import { readRowsInPages } from '../../platform/data/postgres/scan.ts';
import { writeInBatches } from '../../platform/data/postgres/write-in-batches.ts';
import { createRetentionSweep } from '../../platform/work/leased-work/sweeps.ts';
import type { OutboxConsumer } from '../../platform/work/outbox/consumer.ts';
import type { Sweep } from '../../platform/work/outbox/relay.ts';
import {
  EXPORT_PASSKEYS,
  REMOVE_CHALLENGES,
  REMOVE_EXPIRED_CHALLENGES,
  REMOVE_PASSKEYS,
  REMOVE_PASSKEYS_ADDED_SINCE,
  REMOVE_PASSKEYS_IN_BATCHES,
} from './sql.ts';

const EXPORTED_FIELDS = ['id', 'name', 'createdAt', 'lastUsedAt', 'backedUp', 'deviceType', 'transports'];

/** Describes the passkeys of a user and the challenges that wait for them, for exports and erasures. */
export function passkeyUserData(database: Database): UserData {
  return {
    name: 'passkeys',
    description: 'Passkeys, without their public keys',
    tables: ['passkeys', 'passkey_challenges'],
    rows: (userId) => readRowsInPages(database, EXPORT_PASSKEYS, EXPORTED_FIELDS, [userId]),
    async erase(userId) {
      await database.write({ text: REMOVE_CHALLENGES, values: [[userId]] });
      return writeInBatches(database, REMOVE_PASSKEYS_IN_BATCHES, [userId]);
    },
  };
}

/** Creates the sweep that removes expired challenges. */
export function createChallengeSweep(database: Pick<Database, 'write'>): Sweep {
  return createRetentionSweep(database, {
    name: 'passkeys: expired challenges',
    removals: [{ text: REMOVE_EXPIRED_CHALLENGES }],
  });
}

/**
 * Ends the challenges of users, and the passkeys that another person may have added. A new password keeps passkeys: they do not depend on
 * it, and a user who signs in with a passkey may have forgotten the password.
 */
export const revokePasskeys: RevocationStep = async ({ cause, userIds, since, firstProof }, { database: on }) => {
  if (cause === 'key_revoked') return;
  await on.write({ text: REMOVE_CHALLENGES, values: [userIds] });
  if (cause === 'user_deleted' || cause === 'account_claimed' || firstProof)
    await on.write({ text: REMOVE_PASSKEYS, values: [userIds] });
  if (cause === 'email_change_undone') await on.write({ text: REMOVE_PASSKEYS_ADDED_SINCE, values: [userIds, since] });
};

/** Creates the relay consumer that removes the passkeys and challenges of deleted users. */
export function createPasskeyRemovalConsumer(users: ResourceGateway): OutboxConsumer {
  return createDeletedUsersConsumer(users, REMOVE_CHALLENGES, REMOVE_PASSKEYS);
}
