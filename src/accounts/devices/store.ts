import type { UserData } from '../../declare/host.ts';
import type { RevocationStep } from '../../declare/revocation.ts';
import type { Database, Executor } from '../../platform/data/postgres/database.ts';
import { index, pgTable, text, timestamptz } from '../../platform/data/postgres/drizzle.ts';
import { findViolatedForeignKey } from '../../platform/data/postgres/errors.ts';
import { invalidSessionError } from '../../platform/helpers/errors.ts';
import { newId } from '../../platform/helpers/ids.ts';
import { sessions } from '../sessions/sessions.ts';
import { defineOwnedTable } from '../users/owned-table.ts';
import { activeOwnerJoinSql, type UserTable } from '../users/user-state.ts';
import type { DeviceRegistration } from './input.ts';
import { type DevicePlatform, hashDeviceToken, maskToken } from './token.ts';

/** Devices that receive push notifications. A device bound to a session is removed with the session's row. */
export const devices = pgTable(
  'devices',
  {
    id: text('id').primaryKey(),
    userId: text('user_id').notNull(),
    /** Null if the device is not bound to a session: then it stays when the sessions of its user end. */
    sessionId: text('session_id').references(() => sessions.id, { onDelete: 'cascade' }),
    token: text('token').notNull(),
    /**
     * SHA-256 of the part of the token that identifies the device; of a browser subscription, only the endpoint. Unique: one device per
     * token, whatever platform the client sent. Hashed because tokens may be too long for an index.
     */
    tokenHash: text('token_hash').notNull().unique(),
    platform: text('platform').notNull(),
    name: text('name'),
    appVersion: text('app_version'),
    locale: text('locale'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    /** Time of the last registration. */
    lastSeenAt: timestamptz('last_seen_at').notNull().defaultNow(),
  },
  (table) => [index('devices_user_id_index').on(table.userId), index('devices_session_id_index').on(table.sessionId)],
);

/** The devices as rows of users. Uses index devices_user_id_index. */
export const ownedDevices = defineOwnedTable(devices, { locksInOrder: true });

/** A device of the caller, with its unmasked token. */
export interface OwnDevice {
  id: string;
  platform: DevicePlatform;
  name: string | null;
  appVersion: string | null;
  locale: string | null;
  token: string;
  signedIn: boolean;
  createdAt: string;
  lastSeenAt: string;
}

/** A device that a push can be sent to. */
interface PushDevice {
  id: string;
  platform: DevicePlatform;
  token: string;
  userId: string;
  locale: string | null;
  /** Whether the device's session has expired. The query has then deleted the device, and no push is sent to it. */
  expired: boolean;
}

type OwnRow = [string, DevicePlatform, string | null, string | null, string | null, string, boolean, string, string];
type PushRow = [string, DevicePlatform, string, string, string | null, boolean];

const OWN_COLUMNS = `d.id, d.platform, d.name, d.app_version, d.locale, d.token, d.session_id is not null,
  d.created_at, d.last_seen_at`;

/** Maximum number of devices of a user. Registering another device removes the least recently seen one. */
const MAX_DEVICES = 100;

// A known token moves to the user who registered it last, and no value of the former user stays on the device. The unique index on
// token_hash decides when two users register one token at the same time.
const REGISTER = `
  with old as (
    delete from devices where id in (
      select id from devices where user_id = $2 and token_hash <> $5 order by last_seen_at desc, id desc offset ${MAX_DEVICES - 1}
    )
  )
  insert into devices as d (id, user_id, session_id, token, token_hash, platform, name, app_version, locale)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  on conflict (token_hash) do update set user_id = excluded.user_id, session_id = excluded.session_id,
    token = excluded.token, platform = excluded.platform, name = excluded.name, app_version = excluded.app_version, locale = excluded.locale,
    created_at = case when d.user_id = excluded.user_id then d.created_at else now() end, last_seen_at = now()
  returning ${OWN_COLUMNS}`;

// Uses index devices_user_id_index.
const LIST = `
  select ${OWN_COLUMNS} from devices d left join sessions s on s.id = d.session_id
  where d.user_id = $1 and (d.session_id is null or s.expires_at > now()) order by d.created_at desc, d.id desc`;

const REMOVE_OWN = 'delete from devices where id = $1 and user_id = $2 returning id';
const UNREGISTER = 'delete from devices where token_hash = $1 and user_id = $2';

// A session has two devices if its push token was renewed and registered again: select the newer device.
const OF_SESSION = 'select id from devices where session_id = $1 order by last_seen_at desc, id desc limit 1';

// Looks up each user and each device by index (`offset 0` keeps the planner from reading the whole table instead).
const findDevicesSql = (users: UserTable | undefined) => `
  with mine as materialized (
    select d.id, d.platform, d.token, d.user_id, d.locale, coalesce(s.expires_at <= now(), false) as expired from (
      select d.* from unnest($1::text[]) u(id), lateral (select * from devices where user_id = u.id offset 0) d
      union all
      select d.* from unnest($2::text[]) i(id), lateral (select * from devices where id = i.id offset 0) d
      where not d.user_id = any($1)
    ) d left join sessions s on s.id = d.session_id ${activeOwnerJoinSql(users, 'd.user_id')}
    where d.id > $3 and owner.active order by d.id limit $4
  ), removed as (delete from devices d using mine where d.id = mine.id and mine.expired)
  select id, platform, token, user_id, locale, expired from mine order by id`;

// Finds devices by id or by token hash in two branches, because each uses its own index. A push to a raw token may name another
// platform than the stored device has; then the provider's rejection says nothing about that device.
const REMOVE_GONE = `
  with g as (select * from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) g(id, token_hash, platform, seen_until)), gone as (
    select d.id, g.seen_until from g join devices d on d.id = g.id
    union all
    select d.id, g.seen_until from g join devices d on d.token_hash = g.token_hash and d.platform = g.platform
  )
  delete from devices d using gone where d.id = gone.id and d.last_seen_at <= gone.seen_until returning 1`;

function toOwnDevice(row: OwnRow): OwnDevice {
  const [id, platform, name, appVersion, locale, token, signedIn, createdAt, lastSeenAt] = row;
  return { id, platform, name, appVersion, locale, token, signedIn, createdAt, lastSeenAt };
}

/**
 * Stores a device, or moves a known one to this user and session.
 *
 * @param tx the caller's transaction, which the error must roll back: Postgres commits nothing after a failed statement
 * @param sessionId null if the device is not bound to a session
 * @throws ApiError UNAUTHORIZED if the session has ended meanwhile
 */
export async function registerDevice(
  tx: Executor,
  registration: DeviceRegistration,
  { userId, sessionId }: { userId: string; sessionId: string | null },
): Promise<OwnDevice> {
  const { token, platform, name = null, appVersion = null, locale = null } = registration;
  const hash = hashDeviceToken(token);
  const values = [newId(), userId, sessionId, token, hash, platform, name, appVersion, locale];
  try {
    const rows = await tx.write<OwnRow>({ name: 'device_register', text: REGISTER, values });
    return toOwnDevice(rows[0]!);
  } catch (error) {
    // The session ended after the request was authenticated.
    throw findViolatedForeignKey(error) === undefined ? error : invalidSessionError();
  }
}

/** Returns the devices of a user, newest first, without those whose session has expired. */
export async function listDevices(database: Database, userId: string): Promise<OwnDevice[]> {
  const rows = await database.read<OwnRow>({ name: 'device_list', text: LIST, values: [userId] });
  return rows.map(toOwnDevice);
}

/** Removes a device of a user. Returns false if the user has no such device. */
export async function removeOwnDevice(database: Database, id: string, userId: string): Promise<boolean> {
  return (await database.write({ text: REMOVE_OWN, values: [id, userId] })).length > 0;
}

/** Removes the device with this token, if it belongs to the user. */
export async function removeOwnDeviceByToken(database: Database, token: string, userId: string): Promise<void> {
  await database.write({ text: UNREGISTER, values: [hashDeviceToken(token), userId] });
}

/** Returns the id of the device that a session registered last; undefined if the session has no device. */
export async function findDeviceIdOfSession(database: Database, sessionId: string): Promise<string | undefined> {
  const rows = await database.read<[string]>({ name: 'device_of_session', text: OF_SESSION, values: [sessionId] });
  return rows[0]?.[0];
}

/**
 * Returns a page of the devices of users plus the devices with given ids, each once, ordered by id. Devices of deleted or inactive
 * users are left out. Devices whose session has expired are removed and returned with `expired`.
 *
 * @param selection user ids and device ids, each without duplicates
 * @param page `after`: the last device of the previous page, null for the first page; `limit`: the page size
 */
export type FindDevices = (
  database: Executor,
  selection: { userIds: readonly string[]; deviceIds: readonly string[] },
  page: { after: string | null; limit: number },
) => Promise<PushDevice[]>;

/** Creates the query for the devices of a push. */
export function createFindDevices(users: UserTable | undefined): FindDevices {
  const text = findDevicesSql(users);
  return async (database, { userIds, deviceIds }, { after, limit }) => {
    if (userIds.length === 0 && deviceIds.length === 0) return [];
    const values = [userIds, deviceIds, after ?? '', limit];
    const rows = await database.write<PushRow>({ name: 'device_find', text, values });
    return rows.map(([id, platform, token, userId, locale, expired]) => ({
      id,
      platform,
      token,
      userId,
      locale,
      expired,
    }));
  };
}

/** A device that its provider reports as gone: identified by its id, or by its token if the push was sent to a raw token. */
export interface GoneDevice {
  id: string | null;
  /** See `hashDeviceToken`: set if the push was sent to a raw token; null if `id` is set. */
  tokenHash: string | null;
  /** The platform that the push to a raw token named; null if `id` is set. */
  platform: DevicePlatform | null;
  /** ISO 8601. The report is about registrations up to this time: a device that registered again later is not removed. */
  seenUntil: string;
}

/** Removes devices that their provider reports as gone. Returns the number removed. */
export async function deleteGoneDevices(database: Database, gone: readonly GoneDevice[]): Promise<number> {
  if (gone.length === 0) return 0;
  const values = [
    gone.map(({ id }) => id),
    gone.map((device) => device.tokenHash),
    gone.map(({ platform }) => platform),
    gone.map(({ seenUntil }) => seenUntil),
  ];
  return (await database.write({ name: 'device_remove', text: REMOVE_GONE, values })).length;
}

/** Removes all devices of deleted users, including devices without a session. For other causes, devices end with their sessions. */
export const removeAllDevices: RevocationStep = async ({ cause, userIds }, tx) => {
  if (cause === 'user_deleted' || cause === 'account_claimed' || cause === 'email_change_undone')
    await ownedDevices.remove(tx.database, userIds);
};

/** Describes the device data of a user, for exports and erasures. */
export function deviceUserData(database: Database): UserData {
  const data = ownedDevices.describe(database, {
    name: 'devices',
    description: 'Devices that receive push notifications; tokens are masked',
    exported: ['id', 'platform', 'name', 'appVersion', 'locale', 'token', 'createdAt', 'lastSeenAt'],
  });
  return {
    ...data,
    async *rows(userId) {
      for await (const device of data.rows(userId))
        yield { ...device, token: maskToken(device.platform as DevicePlatform, device.token as string) };
    },
  };
}
