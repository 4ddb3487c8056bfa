import { createDeletedUsersConsumer } from '../../accounts/users/user-state.ts';
import type { RevocationStep } from '../../declare/accounts.ts';
import type { ResourceGateway, UserData } from '../../declare/host.ts';
import type { Database } from '../../platform/data/postgres/database.ts';
import { readRowsInPages } from '../../platform/data/postgres/scan.ts';
import { createRetentionSweep } from '../../platform/work/leased-work/sweeps.ts';
import type { OutboxConsumer } from '../../platform/work/outbox/consumer.ts';
import type { Sweep } from '../../platform/work/outbox/relay.ts';
import { REMOVE_DEVICES, REMOVE_DEVICES_SINCE, REMOVE_UNSEEN_DEVICES } from './sql.ts';

// Uses the primary key of known_devices.
const ROWS = `
  select fingerprint, first_seen_at, last_seen_at from known_devices
  where user_id = $1 and fingerprint > $2 order by fingerprint limit $3`;

/** Describes the known devices of a user, for exports and erasures. */
export function knownDevicesUserData(database: Database): UserData {
  return {
    name: 'knownDevices',
    description: 'Devices that have signed in: when each was first and last used',
    tables: ['known_devices'],
    async *rows(userId) {
      const names = ['fingerprint', 'firstSeenAt', 'lastSeenAt'];
      for await (const { firstSeenAt, lastSeenAt } of readRowsInPages(database, ROWS, names, [userId]))
        yield { firstSeenAt, lastSeenAt };
    },
    // A user has few devices, so one statement is enough.
    erase: async (userId) =>
      (await database.write({ text: `${REMOVE_DEVICES} returning 1`, values: [[userId]] })).length,
  };
}

// Rare, because the sweep also reads the newest device of each user who has not signed in for long, which stays.
const UNSEEN_DEVICES_EVERY_MS = 60 * 60_000;

/** Creates the sweep that removes devices that have not signed in for long. */
export function createUnseenDevicesSweep(database: Pick<Database, 'write'>): Sweep {
  return createRetentionSweep(database, {
    name: 'security mails: devices not seen for long',
    everyMs: UNSEEN_DEVICES_EVERY_MS,
    removals: [{ text: REMOVE_UNSEEN_DEVICES }],
  });
}

/** Forgets devices that may belong to another person than the owner of the account, so that their next sign-in is reported. */
export const forgetDevicesOnRevocation: RevocationStep = async ({ cause, userIds, since }, tx) => {
  if (cause === 'user_deleted' || cause === 'account_claimed')
    await tx.database.write({ text: REMOVE_DEVICES, values: [userIds] });
  if (cause === 'email_change_undone')
    await tx.database.write({ text: REMOVE_DEVICES_SINCE, values: [userIds, since] });
};

/** Creates the relay consumer that removes the devices of deleted users. */
export function createDeviceRemovalConsumer(users: ResourceGateway): OutboxConsumer {
  return createDeletedUsersConsumer(users, REMOVE_DEVICES);
}
