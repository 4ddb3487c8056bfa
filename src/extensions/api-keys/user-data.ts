import type { UserData } from '../../declare/host.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { rowsInPages } from '../../platform/postgres/rows-in-pages.ts';
import { writeInBatches } from '../../platform/postgres/write-in-batches.ts';
import { API_KEY_COLUMNS } from './record.ts';

// Index api_keys_user_id_index.
const ROWS = `select ${API_KEY_COLUMNS} from api_keys where user_id = $1 and id > $2 order by id limit $3`;
const NAMES = ['id', 'name', 'prefix', 'scopes', 'status', 'createdAt', 'lastUsedAt', 'lastUsedIp', 'expiresAt'];
const REMOVE = 'delete from api_keys where id in (select id from api_keys where user_id = $1 limit $2) returning 1';

/** The API keys of a user. */
export function keyData(database: Database): UserData {
  return {
    name: 'apiKeys',
    description: 'API keys, without the keys themselves',
    tables: ['api_keys'],
    rows: (userId) => rowsInPages(database, ROWS, NAMES, [userId]),
    erase: (userId) => writeInBatches(database, REMOVE, [userId]),
  };
}
