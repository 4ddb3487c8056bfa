import {
  bigint,
  boolean,
  index,
  pgTable,
  quoteIdentifier,
  text,
  timestamptz,
  uniqueIndex,
} from '../../extension/index.ts';

/** The passkeys of users. A public key is no secret, so it is stored as it is. */
export const passkeyTable = pgTable(
  'passkeys',
  {
    id: text('id').primaryKey(),
    userId: text('user_id').notNull(),
    /** The authenticator's id of the passkey, base64url. */
    credentialId: text('credential_id').notNull(),
    /** The COSE public key (RFC 9052), base64url. */
    publicKey: text('public_key').notNull(),
    /** The signature counter at the last use; 0 if the authenticator does not count. */
    counter: bigint('counter', { mode: 'number' }).notNull(),
    /** `singleDevice` or `multiDevice`; never changes. */
    deviceType: text('device_type').notNull(),
    /** Whether the passkey was backed up when it was last used. */
    backedUp: boolean('backed_up').notNull(),
    /** How browsers reach the authenticator: `internal`, `hybrid`, `usb`. */
    transports: text('transports').array().notNull(),
    name: text('name').notNull(),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    lastUsedAt: timestamptz('last_used_at'),
  },
  (table) => [
    uniqueIndex('passkeys_credential_id_index').on(table.credentialId),
    index('passkeys_user_id_index').on(table.userId),
  ],
);

/** Challenges that wait for the response of a passkey. Neither a challenge nor the token that names it is stored, only their SHA-256. */
export const passkeyChallenges = pgTable(
  'passkey_challenges',
  {
    /** Of the token that the client returns with the response; if the client gets none, of the challenge itself. */
    tokenHash: text('token_hash').primaryKey(),
    challengeHash: text('challenge_hash').notNull(),
    /** `registration`, `confirmation`, `sign-in` or `second-factor`; or `confirmed`: see `CONFIRMED`. */
    purpose: text('purpose').notNull(),
    /** Null for a sign-in, because its user is not known yet. */
    userId: text('user_id'),
    /** The session that may answer; null if the challenge belongs to no session. */
    sessionId: text('session_id'),
    /** Of a second factor: the proof of the checked credential. A new password invalidates the login. */
    passwordProof: text('password_proof'),
    expiresAt: timestamptz('expires_at').notNull(),
  },
  (table) => [
    index('passkey_challenges_user_id_index').on(table.userId),
    index('passkey_challenges_expires_at_index').on(table.expiresAt),
  ],
);

/** The columns of a passkey as its user sees it. */
const PASSKEY_COLUMNS = 'id, name, created_at, last_used_at, backed_up, device_type, transports';

/** $1 user. Oldest first. Uses passkeys_user_id_index. */
export const LIST_PASSKEYS = `select ${PASSKEY_COLUMNS} from passkeys where user_id = $1 order by created_at, id`;

/** $1 user. Uses passkeys_user_id_index. */
export const SELECT_DESCRIPTORS =
  'select credential_id, transports from passkeys where user_id = $1 order by created_at, id';

/** $1 user. Uses passkeys_user_id_index. */
export const COUNT_PASSKEYS = 'select count(*)::int from passkeys where user_id = $1';

/** $1 user. Uses passkeys_user_id_index. */
export const HAS_PASSKEY = 'select 1 from passkeys where user_id = $1 limit 1';

/** $1 user. Uses passkeys_user_id_index. */
export const SELECT_FIRST_ADDED = 'select min(created_at) from passkeys where user_id = $1';

/** $1 credential. Uses passkeys_credential_id_index. */
export const SELECT_USER_OF_CREDENTIAL = 'select user_id from passkeys where credential_id = $1';

/** $1 credential, $2 user. The caller holds the lock on the user's row. Uses passkeys_credential_id_index. */
export const SELECT_PASSKEY = `
  select id, public_key, counter, device_type, name from passkeys where credential_id = $1 and user_id = $2`;

/** No row: the credential is already registered, by any user. The conflict uses passkeys_credential_id_index. */
export const INSERT_PASSKEY = `
  insert into passkeys (id, user_id, credential_id, public_key, counter, device_type, backed_up, transports, name)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  on conflict (credential_id) do nothing returning ${PASSKEY_COLUMNS}`;

/** $1 id, $2 counter, $3 whether it is backed up. */
export const RECORD_USE = 'update passkeys set counter = $2, backed_up = $3, last_used_at = now() where id = $1';

/** $1 id, $2 user, $3 name. */
export const RENAME_PASSKEY = `update passkeys set name = $3 where id = $1 and user_id = $2 returning ${PASSKEY_COLUMNS}`;

/** $1 id, $2 user. Returns the name. */
export const REMOVE_PASSKEY = 'delete from passkeys where id = $1 and user_id = $2 returning name';

/** $1 user, $2 id, or null for all. Returns the id and the name of each removed passkey. Uses passkeys_user_id_index. */
export const REMOVE_PASSKEYS_OF_USER =
  'delete from passkeys where user_id = $1 and ($2::text is null or id = $2) returning id, name';

/**
 * The purpose of a row that no response can answer: the session has confirmed with a passkey, and may change passkeys until the row
 * expires.
 */
export const CONFIRMED = 'confirmed';

/** $1 user, $2 session. A row: the user has a passkey, and the session has not confirmed with one. Uses the indexes of user_id. */
export const NEEDS_CONFIRMATION = `
  select 1 from passkeys where user_id = $1 and not exists (
    select from passkey_challenges
    where user_id = $1 and session_id = $2 and purpose = '${CONFIRMED}' and expires_at > now()
  ) limit 1`;

/** $1 user, $2 session, $3 minutes that a confirmation must still last. Uses passkey_challenges_user_id_index. */
export const IS_CONFIRMED = `
  select 1 from passkey_challenges where user_id = $1 and session_id = $2 and purpose = '${CONFIRMED}'
    and expires_at > now() + $3::float8 * interval '1 minute' limit 1`;

const LIFETIME = (parameter: string) => `now() + ${parameter}::float8 * interval '1 minute'`;

/** $1 hash of the token, $2 hash of the challenge, $3 purpose, $4 user, $5 session, $6 minutes to live. */
export const OPEN_CHALLENGE = `
  insert into passkey_challenges (token_hash, challenge_hash, purpose, user_id, session_id, expires_at)
  values ($1, $2, $3, $4, $5, ${LIFETIME('$6')}) returning expires_at`;

/**
 * $1 hash of the token, $2 hash of the challenge, $3 user, $4 password proof, $5 minutes to live. No row: the user no longer exists. The
 * lock on the user's row orders this statement against a deletion of the user: either the deletion ends this login, or this statement finds
 * no user.
 */
export const openSecondFactorSql = (users: string) => `
  with owner as (
    select id from ${quoteIdentifier(users)} where id = $3 for share
  )
  insert into passkey_challenges (token_hash, challenge_hash, purpose, user_id, password_proof, expires_at)
  select $1, $2, 'second-factor', owner.id, $4, ${LIFETIME('$5')} from owner returning expires_at`;

/** $1 hash of the token. */
export const SELECT_USER_OF_SECOND_FACTOR = `select user_id from passkey_challenges where token_hash = $1 and purpose = 'second-factor'`;

/**
 * Uses a challenge up and returns the hash of the challenge and the password proof. $1 hash of the token, $2 purpose, $3 user, $4 session.
 * No row: the challenge is used, expired, or was created for another purpose, user or session.
 */
export const CLAIM_CHALLENGE = `
  delete from passkey_challenges
  where token_hash = $1 and purpose = $2 and user_id is not distinct from $3 and session_id is not distinct from $4
    and expires_at > now()
  returning challenge_hash, password_proof`;
