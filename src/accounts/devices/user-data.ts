import type { UserData } from '../../declare/host.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { rowsInPages } from '../../platform/postgres/rows-in-pages.ts';
import { writeInBatches } from '../../platform/postgres/write-in-batches.ts';
import { type DevicePlatform, maskToken } from './token.ts';

// Index devices_user_id_index.
const ROWS = `
  select id, platform, name, app_version, locale, token, created_at, last_seen_at from devices
  where user_id = $1 and id > $2 order by id limit $3`;
const NAMES = ['id', 'platform', 'name', 'appVersion', 'locale', 'token', 'createdAt', 'lastSeenAt'];
const REMOVE = 'delete from devices where id in (select id from devices where user_id = $1 limit $2) returning 1';

/** The devices of a user. */
export function deviceData(database: Database): UserData {
  return {
    name: 'devices',
    description: 'Devices that get push notifications; tokens are masked',
    tables: ['devices'],
    async *rows(userId) {
      for await (const device of rowsInPages(database, ROWS, NAMES, [userId])) {
        yield { ...device, token: maskToken(device.platform as DevicePlatform, device.token as string) };
      }
    },
    erase: (userId) => writeInBatches(database, REMOVE, [userId]),
  };
}
