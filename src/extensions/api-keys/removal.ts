import { whenUsersAreDeleted } from '../../accounts/deleted-users.ts';
import type { ResourceGateway } from '../../declare/host.ts';
import type { Sweep } from '../../platform/outbox/relay.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { removeInBatches } from '../../platform/postgres/write-in-batches.ts';
import { DELETE_OLD, REVOKE_OF_DELETED } from './sql.ts';

const KEEP_DAYS = 30;
const EVERY_MS = 10 * 60_000;

/** Removes keys that were revoked or have expired 30 days ago. */
export function oldKeysSweep(database: Pick<Database, 'write'>): Sweep {
  return {
    name: 'old API keys',
    everyMs: EVERY_MS,
    run: () => removeInBatches(database, DELETE_OLD, [KEEP_DAYS]),
  };
}

/** Revokes the keys of users who are deleted. They stopped working at once; this is for what is stored of them. */
export const keysOfDeletedUsers = (users: ResourceGateway) => whenUsersAreDeleted(users, REVOKE_OF_DELETED);
