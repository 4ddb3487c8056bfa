import {
  createDeletedUsersConsumer,
  createRetentionSweep,
  type Database,
  defineOwnedTable,
  type FeatureParts,
  type ResourceGateway,
  type RevocationStep,
} from '../../extension/index.ts';
import { passkeyChallenges, passkeyTable } from './sql.ts';

/** The challenges as rows of users. Uses passkey_challenges_user_id_index. */
export const ownedChallenges = defineOwnedTable(passkeyChallenges);
// Uses passkeys_user_id_index.
const ownedPasskeys = defineOwnedTable(passkeyTable);

/**
 * Ends the challenges of users, and the passkeys that another person may have added. A new password keeps passkeys: they do not depend on
 * it, and a user who signs in with a passkey may have forgotten the password.
 */
const revokePasskeys: RevocationStep = async ({ cause, userIds, since, firstProof }, { database: on }) => {
  if (cause === 'key_revoked') return;
  await ownedChallenges.remove(on, userIds);
  if (cause === 'user_deleted' || cause === 'account_claimed' || firstProof) await ownedPasskeys.remove(on, userIds);
  if (cause === 'email_change_undone') await ownedPasskeys.remove(on, userIds, since);
};

/** Creates the parts that revoke, remove and export the rows of users. */
export function createPasskeyRowParts(database: Database, users: ResourceGateway) {
  return {
    revocationStep: revokePasskeys,
    consumers: [createDeletedUsersConsumer(users, ownedChallenges, ownedPasskeys)],
    sweeps: [
      createRetentionSweep(database, {
        name: 'passkeys: expired challenges',
        removals: [{ table: passkeyChallenges }],
      }),
    ],
    userData: [
      ownedPasskeys.describe(database, {
        name: 'passkeys',
        description: 'Passkeys, without their public keys',
        exported: ['id', 'name', 'createdAt', 'lastUsedAt', 'backedUp', 'deviceType', 'transports'],
        also: [ownedChallenges],
      }),
    ],
  } satisfies FeatureParts;
}
