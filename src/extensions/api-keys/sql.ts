import { index, pgTable, sql, text, timestamptz } from '../../extension/index.ts';
import { API_KEY_COLUMNS } from './record.ts';

/** Keys for scripts. Only the SHA-256 of a key is stored. Revoked and expired keys are kept for 30 days for admins to see. */
export const apiKeyTable = pgTable(
  'api_keys',
  {
    id: text('id').primaryKey(),
    userId: text('user_id').notNull(),
    keyHash: text('key_hash').notNull().unique(),
    name: text('name').notNull(),
    /** The visible part of the key. */
    prefix: text('prefix').notNull(),
    scopes: text('scopes').array().notNull(),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    /** Null if the key never expires. */
    expiresAt: timestamptz('expires_at'),
    lastUsedAt: timestamptz('last_used_at'),
    lastUsedIp: text('last_used_ip'),
    revokedAt: timestamptz('revoked_at'),
    /** The id of the only organisation that the key can reach; null if it can reach all of its owner. */
    organisation: text('organisation'),
    /** The role as which a key acts that belongs to an organisation: then `user_id` is the id of the organisation. Null: it belongs to a user. */
    organisationRole: text('organisation_role'),
  },
  (table) => [
    index('api_keys_user_id_index').on(table.userId),
    index('api_keys_expires_at_index').on(table.expiresAt),
    index('api_keys_revoked_at_index').on(table.revokedAt).where(sql`revoked_at is not null`),
  ],
);

/** SQL condition: last_used_at needs a refresh. Uses the database clock, which is the same for all processes. */
const usageIsStaleSql = (key: string) => `coalesce(${key}.last_used_at < now() - interval '1 minute', true)`;
const ACTIVE = 'revoked_at is null and (expires_at is null or expires_at > now())';

/**
 * $1 key id. Locks the owner of the key. Every revocation does so before it locks the key, so that nothing is stored for a key while it
 * is being revoked.
 *
 * @param organisations the name of the table of organisations; undefined in an app without them
 */
export const lockOwnerSql = (users: string, organisations: string | undefined) => {
  // A union cannot lock rows itself.
  const lockIn = (owners: string) =>
    `select from (select from ${owners} where id = (select user_id from api_keys where id = $1) for no key update) locked`;
  return organisations === undefined ? lockIn(users) : `${lockIn(users)} union all ${lockIn(organisations)}`;
};

/**
 * $1 key id, $2 owner, $3 hash, $4 name, $5 prefix, $6 scopes, $7 lifetime in days or null, $8 maximum active keys of the owner,
 * $9 organisation or null, $10 role or null. No row: the owner has reached that maximum. Uses api_keys_user_id_index.
 */
export const INSERT_KEY = `
  insert into api_keys (id, user_id, key_hash, name, prefix, scopes, expires_at, organisation, organisation_role)
  select $1, $2, $3, $4, $5, $6::text[], now() + $7::integer * interval '1 day', $9, $10
  where (select count(*) from api_keys where user_id = $2 and ${ACTIVE}) < $8
  returning ${API_KEY_COLUMNS}`;

/**
 * SQL that finds API keys and their owners. $1 is an array of key hashes, so that requests that arrive together share one round trip.
 * Uses the index api_keys_key_hash_unique.
 *
 * @param users the name of the users table; its alias is `u`
 * @param columns the columns to select from it
 * @param organisations the name of the table of organisations; undefined in an app without them
 */
export const findKeysSql = (users: string, columns: string, organisations: string | undefined) => {
  const ownerExists =
    organisations === undefined
      ? 'u.id is not null'
      : // Only a key of an organisation costs the look-up.
        `case when k.organisation_role is null then u.id is not null
        else exists (select from ${organisations} o where o.id = k.user_id) end`;
  return `
  select k.key_hash, k.id, k.user_id, k.prefix, k.scopes, ${usageIsStaleSql('k')}, k.revoked_at is not null,
    coalesce(k.expires_at <= now(), false), ${ownerExists}, k.organisation, k.organisation_role, ${columns}
  from api_keys k left join ${users} u on u.id = k.user_id where k.key_hash = any($1)`;
};

/** $1 key ids. Returns the ids of keys that are no longer active. Uses the primary key. */
export const SELECT_ENDED_KEYS = `
  select checked.id from unnest($1::text[]) as checked(id)
  where not exists (select from api_keys where api_keys.id = checked.id and ${ACTIVE})`;

/** $1 key id. Uses the primary key. */
export const SELECT_EXPIRY = 'select expires_at from api_keys where id = $1';

/** Records the last use of a key, unless the key is revoked. $1 key id, $2 IP address of the client. */
export const STORE_LAST_USE = `
  update api_keys set last_used_at = now(), last_used_ip = $2
  where id = $1 and revoked_at is null and ${usageIsStaleSql('api_keys')}`;

/** $1 user or organisation. Lists keys that are not revoked. Uses api_keys_user_id_index. */
export const LIST_KEYS_OF_OWNER = `
  select ${API_KEY_COLUMNS} from api_keys where user_id = $1 and revoked_at is null order by created_at desc, id desc`;

const STATUS_CONDITIONS = {
  active: ACTIVE,
  expired: 'revoked_at is null and expires_at <= now()',
  revoked: 'revoked_at is not null',
};

/** $1 owner or null, $2 limit. Newest first, by the primary key, because ids are ordered by time. The last column is the owner. */
export const adminListSql = (status: keyof typeof STATUS_CONDITIONS | undefined) => `
  select ${API_KEY_COLUMNS}, user_id from api_keys
  where ($1::text is null or user_id = $1) and ${status === undefined ? 'true' : STATUS_CONDITIONS[status]}
  order by id desc limit $2`;

/** $1 key id, $2 its owner, or null for any owner. No row: there is no such key, or it is already revoked. */
export const REVOKE_KEY = `
  update api_keys set revoked_at = now()
  where id = $1 and ($2::text is null or user_id = $2) and revoked_at is null
  returning user_id, prefix, organisation_role`;

/** $1 key id. */
export const KEY_EXISTS = 'select 1 from api_keys where id = $1';

/** Revokes all active keys of users. $1 users. */
export const REVOKE_KEYS_OF_USERS = `
  update api_keys set revoked_at = now()
  where id in (select id from api_keys where user_id = any($1) and ${ACTIVE} order by id for no key update)
  returning user_id, id`;

/** Revokes all keys of deleted users and removes the IP addresses of their last use. $1 deleted users. */
export const REVOKE_KEYS_OF_DELETED_USERS = `
  update api_keys set revoked_at = coalesce(revoked_at, now()), last_used_ip = null where user_id = any($1)`;

/**
 * Revokes all keys of deleted organisations and removes the IP addresses of their last use. $1 organisations. Uses api_keys_user_id_index.
 */
export const REVOKE_KEYS_OF_ORGANISATIONS = `
  update api_keys set revoked_at = coalesce(revoked_at, now()), last_used_ip = null
  where id in (
    select id from api_keys where user_id = any($1) and organisation_role is not null order by id for no key update)`;
