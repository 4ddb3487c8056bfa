import {
  createDeletedUsersConsumer,
  createRetentionSweep,
  type Database,
  defineOwnedTable,
  type Executor,
  type FeatureParts,
  type ResourceGateway,
  type Sweep,
} from '../../extension/index.ts';
import { KEY_STATUS } from './record.ts';
import { apiKeyTable, REVOKE_KEYS_OF_DELETED_USERS } from './sql.ts';

// Uses api_keys_user_id_index.
const ownedKeys = defineOwnedTable(apiKeyTable);
/** How long revoked and expired keys are kept. */
const KEPT = `interval '30 days'`;
const CLEAN_UP_EVERY_MS = 10 * 60_000;

/** Creates the sweep that removes old keys. Uses api_keys_expires_at_index and api_keys_revoked_at_index. */
export function createOldKeysSweep(database: Executor): Sweep {
  return createRetentionSweep(database, {
    name: 'old API keys',
    everyMs: CLEAN_UP_EVERY_MS,
    removals: [
      { table: apiKeyTable, keep: KEPT },
      { table: apiKeyTable, column: 'revoked_at', keep: KEPT },
    ],
  });
}

/** Creates the parts that remove and export the keys of users. The keys of a deleted user stopped working with the deletion itself. */
export function createKeyRowParts(database: Database, users: ResourceGateway) {
  return {
    consumers: [createDeletedUsersConsumer(users, REVOKE_KEYS_OF_DELETED_USERS)],
    sweeps: [createOldKeysSweep(database)],
    userData: [
      ownedKeys.describe(database, {
        name: 'apiKeys',
        description: 'API keys, without the keys themselves',
        exported: [
          ...(['id', 'name', 'prefix', 'scopes'] as const),
          ['status', KEY_STATUS],
          ...(['createdAt', 'lastUsedAt', 'lastUsedIp', 'expiresAt', 'organisation'] as const),
        ],
      }),
    ],
  } satisfies FeatureParts;
}
