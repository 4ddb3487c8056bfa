import { deletedUsersConsumer } from '../../accounts/users/deleted-users.ts';
import type { ResourceGateway, UserData } from '../../declare/host.ts';
import type { Sweep } from '../../platform/outbox/relay.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { rowsInPages } from '../../platform/postgres/scan.ts';
import { removeInBatches, writeInBatches } from '../../platform/postgres/write-in-batches.ts';
import { API_KEY_COLUMNS } from './record.ts';
import { DELETE_OLD, REVOKE_OF_DELETED } from './sql.ts';

// Index api_keys_user_id_index.
const ROWS = `select ${API_KEY_COLUMNS} from api_keys where user_id = $1 and id > $2 order by id limit $3`;
const NAMES = ['id', 'name', 'prefix', 'scopes', 'status', 'createdAt', 'lastUsedAt', 'lastUsedIp', 'expiresAt'];
const REMOVE = 'delete from api_keys where id in (select id from api_keys where user_id = $1 limit $2) returning 1';

/** Describes the API keys of a user, for exports and erasures. */
export function keyData(database: Database): UserData {
  return {
    name: 'apiKeys',
    description: 'API keys, without the keys themselves',
    tables: ['api_keys'],
    rows: (userId) => rowsInPages(database, ROWS, NAMES, [userId]),
    erase: (userId) => writeInBatches(database, REMOVE, [userId]),
  };
}

const KEEP_DAYS = 30;
const EVERY_MS = 10 * 60_000;

/** Creates the sweep that removes keys 30 days after they were revoked or expired. */
export function oldKeysSweep(database: Pick<Database, 'write'>): Sweep {
  return {
    name: 'old API keys',
    everyMs: EVERY_MS,
    run: () => removeInBatches(database, DELETE_OLD, [KEEP_DAYS]),
  };
}

/** Creates the relay consumer that clears the keys of deleted users. The keys stopped working with the deletion itself. */
export const keysOfDeletedUsers = (users: ResourceGateway) => deletedUsersConsumer(users, REVOKE_OF_DELETED);
