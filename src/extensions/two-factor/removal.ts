import { whenUsersAreDeleted } from '../../accounts/deleted-users.ts';
import type { RevocationStep } from '../../declare/accounts.ts';
import type { ResourceGateway } from '../../declare/host.ts';
import type { OutboxConsumer, Sweep } from '../../platform/outbox/relay.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { removeInBatches } from '../../platform/postgres/write-in-batches.ts';
import { tablesOf } from '../../records/schema/tables-of.ts';
import { REMOVE_CHALLENGES, REMOVE_EXPIRED, REMOVE_UNCONFIRMED, removeOfGone, removeOfUsers } from './sql.ts';

const EVERY_MS = 60_000;
const GONE_EVERY_MS = 10 * 60_000;

/** Removes logins that got no code in time, enrolments that were never confirmed, and factors of users who were kept for a restore. */
export function twoFactorSweeps(database: Pick<Database, 'write'>, users: ResourceGateway): Sweep[] {
  const overdue: Sweep = {
    name: 'two-factor: logins and enrolments that ran out',
    everyMs: EVERY_MS,
    run: async () =>
      (await removeInBatches(database, REMOVE_EXPIRED)) + (await removeInBatches(database, REMOVE_UNCONFIRMED)),
  };
  if (users.archiveTable === undefined) return [overdue];
  const text = removeOfGone(tablesOf(users));
  const run = () => removeInBatches(database, text);
  return [overdue, { name: 'two-factor: users who are gone', everyMs: GONE_EVERY_MS, run }];
}

/** Ends the users' logins that wait for a code. The factor itself stays, because it is not a credential that grants access. */
export const revokeChallenges: RevocationStep = async ({ cause, userIds }, tx) => {
  if (cause !== 'key_revoked') await tx.database.write({ text: REMOVE_CHALLENGES, values: [userIds] });
};

/** Removes the second factors of users who are deleted, and cannot be restored. */
export function factorsOfDeletedUsers(users: ResourceGateway): OutboxConsumer {
  return whenUsersAreDeleted(users, removeOfUsers(tablesOf(users)), REMOVE_CHALLENGES);
}
