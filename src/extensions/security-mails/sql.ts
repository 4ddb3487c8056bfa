import { index, pgTable, primaryKey, quoteIdentifier, text, timestamptz } from '../../extension/index.ts';

/** The devices from which users have signed in. */
export const knownDevices = pgTable(
  'known_devices',
  {
    userId: text('user_id').notNull(),
    /** See `fingerprintOf`. */
    fingerprint: text('fingerprint').notNull(),
    firstSeenAt: timestamptz('first_seen_at').notNull().defaultNow(),
    lastSeenAt: timestamptz('last_seen_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.fingerprint] }),
    index('known_devices_last_seen_at_index').on(table.lastSeenAt),
  ],
);

/** Days for which a device is known after its last sign-in. */
const KEPT_DAYS = 180;

/** The maximum number of known devices of a user. A new one replaces the one that was not used for the longest time. */
export const MAX_DEVICES = 100;

/**
 * Records a sign-in. $1 user, $2 fingerprint. Returns whether the device is new, and whether the user had any known device before; no row
 * if the user no longer exists. The lock on the user's row orders this statement against a deletion of the user, as in a login. Uses the
 * primary keys.
 */
export const recordDeviceSql = (users: string) => `
  with owner as (
    select id from ${quoteIdentifier(users)} where id = $1 for key share
  ), seen as (
    insert into known_devices (user_id, fingerprint) select id, $2 from owner
    on conflict (user_id, fingerprint) do update set last_seen_at = now()
    returning xmax = 0 as is_new
  ), removed as (
    delete from known_devices where user_id = $1 and (select is_new from seen) and fingerprint in (
      select fingerprint from known_devices where user_id = $1
      order by last_seen_at desc, fingerprint offset ${MAX_DEVICES - 1}
    )
  )
  select is_new, exists (select from known_devices where user_id = $1) from seen`;

/** $1 user. How many devices are known, and when the first and the last of them was seen. Uses the primary key. */
export const KNOWN_DEVICES_SUMMARY =
  'select count(*)::int, min(first_seen_at), max(last_seen_at) from known_devices where user_id = $1';

/**
 * $1 maximum number of rows. The newest device of a user stays: without it, the next sign-in would count as the first one, and a stranger
 * could sign in to a forgotten account without an e-mail. Uses known_devices_last_seen_at_index and the primary key.
 */
export const REMOVE_UNSEEN_DEVICES = `
  delete from known_devices where (user_id, fingerprint) in (
    select user_id, fingerprint from known_devices old
    where last_seen_at < now() - interval '${KEPT_DAYS} days' and exists (
      select from known_devices newer where newer.user_id = old.user_id
        and (newer.last_seen_at, newer.fingerprint) > (old.last_seen_at, old.fingerprint)
    )
    order by last_seen_at limit $1 for update skip locked
  ) returning 1`;
