import {
  createDeletedUsersConsumer,
  createRetentionSweep,
  type Database,
  defineOwnedTable,
  type Executor,
  type FeatureParts,
  type ResourceGateway,
  type RevocationStep,
  type Sweep,
} from '../../extension/index.ts';
import { knownDevices, REMOVE_UNSEEN_DEVICES } from './sql.ts';

// Uses the primary key of known_devices.
const ownedDevices = defineOwnedTable(knownDevices, { addedAt: 'firstSeenAt' });

// Rare, because the sweep also reads the newest device of each user who has not signed in for long, which stays.
const UNSEEN_DEVICES_EVERY_MS = 60 * 60_000;

/** Creates the sweep that removes devices that have not signed in for long. */
export function createUnseenDevicesSweep(database: Executor): Sweep {
  return createRetentionSweep(database, {
    name: 'security mails: devices not seen for long',
    everyMs: UNSEEN_DEVICES_EVERY_MS,
    removals: [{ text: REMOVE_UNSEEN_DEVICES }],
  });
}

/** Forgets devices that may belong to another person than the owner of the account, so that their next sign-in is reported. */
const forgetDevicesOnRevocation: RevocationStep = async ({ cause, userIds, since }, { database: on }) => {
  if (cause === 'user_deleted' || cause === 'account_claimed') await ownedDevices.remove(on, userIds);
  if (cause === 'email_change_undone') await ownedDevices.remove(on, userIds, since);
};

/** Creates the parts that revoke, remove and export the known devices of users. */
export function createKnownDeviceParts(database: Database, users: ResourceGateway) {
  return {
    revocationStep: forgetDevicesOnRevocation,
    consumers: [createDeletedUsersConsumer(users, ownedDevices)],
    sweeps: [createUnseenDevicesSweep(database)],
    userData: [
      ownedDevices.describe(database, {
        name: 'knownDevices',
        description: 'Devices that have signed in: when each was first and last used',
        exported: ['firstSeenAt', 'lastSeenAt'],
      }),
    ],
  } satisfies FeatureParts;
}
