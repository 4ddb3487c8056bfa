import type { ResourceGateway } from '../declare/host.ts';
import type { Sweep } from '../platform/outbox/relay.ts';
import type { Database } from '../platform/postgres/database.ts';
import { removeInBatches } from '../platform/postgres/write-in-batches.ts';
import { whenUsersAreDeleted } from './deleted-users.ts';

const EVERY_MS = 60_000;

// Index sessions_expires_at_index. Devices that follow sessions go with them, by their foreign key.
const REMOVE_EXPIRED = `
  delete from sessions where id in (
    select id from sessions where expires_at <= now() order by expires_at limit $1 for update skip locked
  ) returning 1`;
// Index sessions_user_id_index.
const REMOVE_OF_USERS = 'delete from sessions where user_id = any($1)';

/** Removes sessions that have expired. */
export function sessionSweep(database: Pick<Database, 'write'>): Sweep {
  return {
    name: 'expired sessions',
    everyMs: EVERY_MS,
    run: () => removeInBatches(database, REMOVE_EXPIRED),
  };
}

/** Removes the sessions of users who are deleted: they ended at once, addresses and user agents must not outlive them. */
export const sessionsOfDeletedUsers = (users: ResourceGateway) => whenUsersAreDeleted(users, REMOVE_OF_USERS);
