import { whenUsersAreDeleted } from '../../accounts/deleted-users.ts';
import type { Sweep } from '../../platform/outbox/relay.ts';
import { removeInBatches } from '../../platform/outbox/remove-in-batches.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { REMOVE_CHALLENGES, REMOVE_EXPIRED, REMOVE_OF_USERS, REMOVE_UNCONFIRMED } from './sql.ts';

const EVERY_MS = 60_000;

/** Removes logins that got no code in time, and enrolments that were never confirmed. */
export function twoFactorSweep(database: Pick<Database, 'write'>): Sweep {
  return {
    name: 'two-factor: logins and enrolments that ran out',
    everyMs: EVERY_MS,
    async run() {
      await removeInBatches(database, REMOVE_EXPIRED);
      await removeInBatches(database, REMOVE_UNCONFIRMED);
    },
  };
}

/** Removes the second factors of users who are deleted. */
export const factorsOfDeletedUsers = whenUsersAreDeleted(REMOVE_OF_USERS, REMOVE_CHALLENGES);
