import type { FeatureParts } from '../declare/extension.ts';
import type { ResourceGateway } from '../declare/host.ts';
import type { Database } from '../platform/data/postgres/database.ts';
import { createRetentionSweep } from '../platform/work/leased-work/sweeps.ts';
import { ownedDevices } from './devices/index.ts';
import { emailProofs, ownedProofs } from './email-proofs/store.ts';
import { ownedIdentities } from './identities/store.ts';
import { ownedResets, passwordResets } from './reset/index.ts';
import { ownedSessions, sessions } from './sessions/sessions.ts';
import { createFormerAddressConsumer, describeMailUserData } from './users/mail-user-data.ts';
import { createDeletedUsersConsumer } from './users/user-state.ts';

/** Creates the feature parts that export, erase and remove the rows of accounts. Devices are exported by push. */
export function createUserRowParts(
  database: Database,
  users: ResourceGateway,
): Required<Pick<FeatureParts, 'consumers' | 'sweeps' | 'userData'>> {
  return {
    consumers: [
      createDeletedUsersConsumer(users, ownedSessions, ownedIdentities, ownedProofs, ownedDevices, ownedResets),
      createFormerAddressConsumer(users),
    ],
    // These use the indexes on expires_at. Resets are kept for a day, because sending an e-mail is retried for less than a day.
    sweeps: [
      createRetentionSweep(database, { name: 'expired sessions', removals: [{ table: sessions }] }),
      createRetentionSweep(database, { name: 'expired e-mail proofs', removals: [{ table: emailProofs }] }),
      createRetentionSweep(database, {
        name: 'password resets',
        removals: [{ table: passwordResets, keep: `interval '1 day'` }],
      }),
    ],
    userData: [
      ownedSessions.describe(database, {
        name: 'sessions',
        description: 'Where the user is signed in',
        exported: ['id', 'createdAt', 'lastUsedAt', 'expiresAt', 'ip', 'userAgent', 'method'],
      }),
      ownedIdentities.describe(database, {
        name: 'identities',
        description: 'Accounts at identity providers, such as Google, that the user signs in with',
        exported: ['id', 'provider', 'subject', 'email', 'createdAt', 'lastUsedAt'],
      }),
      ownedResets.describe(database, {
        name: 'passwordResets',
        description: 'The link to set a new password',
        exported: ['requestedAt', 'expiresAt'],
      }),
      describeMailUserData(database, users),
      ownedProofs.describe(database, {
        name: 'emailProofs',
        description: 'Links and codes that were sent by e-mail and can still be used, without their secrets',
        exported: ['id', 'purpose', 'email', 'createdAt', 'expiresAt'],
      }),
    ],
  };
}
