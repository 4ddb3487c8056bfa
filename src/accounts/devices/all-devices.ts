import type { Database } from '../../platform/data/postgres/database.ts';
import { isId } from '../../platform/helpers/ids.ts';
import type { RegisteredDevice } from './responses.ts';
import { type DevicePlatform, maskToken, SIMULATED_PREFIX } from './token.ts';

const SELECT = `
  select d.id, d.user_id, d.platform, d.name, d.app_version, d.locale, d.token, s.expires_at > now(), d.created_at, d.last_seen_at
  from devices d left join sessions s on s.id = d.session_id`;
// Uses the primary key, or index devices_user_id_index.
const LIST = `${SELECT}
  where ($1::text is null or d.user_id = $1) and ($2::text is null or d.platform = $2) and ($3::text is null or d.id < $3)
  order by d.id desc limit $4`;
const READ = `${SELECT} where d.id = $1`;
const REMOVE = 'delete from devices where id = $1 returning 1';
const FIND_REGISTERED = 'select id from devices where id = any($1::text[])';

type Row = [
  id: string,
  user: string,
  platform: DevicePlatform,
  name: string | null,
  appVersion: string | null,
  locale: string | null,
  token: string,
  hasSession: boolean | null,
  createdAt: string,
  lastSeenAt: string,
];

function toRegisteredDevice(row: Row): RegisteredDevice {
  const [id, user, platform, name, appVersion, locale, token, hasSession, createdAt, lastSeenAt] = row;
  const isSimulated = token.startsWith(SIMULATED_PREFIX);
  const state = hasSession === null ? 'unbound' : hasSession ? 'signed-in' : 'expired';
  const about = { id, user, platform, name, appVersion, locale, token: maskToken(platform, token) };
  return { ...about, isSimulated, state, createdAt, lastSeenAt };
}

/**
 * Returns devices of all users, newest first.
 *
 * @param filter `after`: the id of the last device of the previous page
 */
export async function listAllDevices(
  database: Database,
  { user, platform, after, limit }: { user?: string; platform?: DevicePlatform; after?: string; limit: number },
): Promise<RegisteredDevice[]> {
  const rows = await database.readSlowly<Row>({ text: LIST, values: [user, platform, after, limit] });
  return rows.map(toRegisteredDevice);
}

/** Returns a device of any user; undefined if there is none with this id. */
export async function readDevice(database: Database, id: string): Promise<RegisteredDevice | undefined> {
  const [row] = isId(id) ? await database.write<Row>({ text: READ, values: [id] }) : [];
  return row && toRegisteredDevice(row);
}

/** Removes a device of any user. Returns false if there is none with this id. */
export async function removeDevice(database: Database, id: string): Promise<boolean> {
  return isId(id) && (await database.write({ text: REMOVE, values: [id] })).length > 0;
}

/** Returns which of these devices are still registered. */
export async function findRegisteredDevices(database: Database, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await database.read<[string]>({ text: FIND_REGISTERED, values: [ids] });
  return new Set(rows.map(([id]) => id));
}
