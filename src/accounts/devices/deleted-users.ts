import type { RevocationStep } from '../../declare/accounts.ts';
import type { ResourceGateway } from '../../declare/host.ts';
import { whenUsersAreDeleted } from '../deleted-users.ts';

// Index devices_user_id_index.
const REMOVE = `
  delete from devices where id in (select id from devices where user_id = any($1) order by id for update)`;

/** Removes all devices of deleted users, including those that follow no session. For other causes, devices end with their sessions. */
export const revokeDevices: RevocationStep = async ({ cause, userIds }, tx) => {
  if (cause === 'user_deleted') await tx.database.write({ text: REMOVE, values: [userIds] });
};

/** Removes the devices of users who are deleted, those that follow no session included. Runs in the relay. */
export const devicesOfDeletedUsers = (users: ResourceGateway) => whenUsersAreDeleted(users, REMOVE);
