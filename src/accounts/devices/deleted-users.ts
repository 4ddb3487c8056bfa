import type { ResourceView } from '../../declare/host.ts';
import { whenUsersAreDeleted } from '../deleted-users.ts';

// Index devices_user_id_index.
const REMOVE = 'delete from devices where user_id = any($1)';

/** Removes the devices of users who are deleted, those that follow no session included. Runs in the relay. */
export const devicesOfDeletedUsers = (users: ResourceView) => whenUsersAreDeleted(users, REMOVE);
