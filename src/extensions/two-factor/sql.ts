import { bigint, index, integer, pgTable, quoteIdentifier, sql, text, timestamptz } from '../../extension/index.ts';

/** The second factors of users, one row per user, enrolled or confirmed. Every attempt with a code locks the row. */
export const twoFactors = pgTable(
  'two_factors',
  {
    userId: text('user_id').primaryKey(),
    /** Ciphertext of the TOTP secret. */
    secret: text('secret').notNull(),
    /** The time step of the last accepted code: codes of this and earlier steps are used up. */
    lastStep: bigint('last_step', { mode: 'number' }).notNull().default(0),
    /** Hashes of the unused recovery codes. */
    recoveryCodes: text('recovery_codes').array().notNull().default([]),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    /** Null while the factor is enrolled but not yet confirmed with a code. */
    confirmedAt: timestamptz('confirmed_at'),
    /** Wrong codes since the last right one, over all logins and changes. */
    failures: integer('failures').notNull().default(0),
    lockedUntil: timestamptz('locked_until'),
  },
  (table) => [index('two_factors_unconfirmed_index').on(table.createdAt).where(sql`confirmed_at is null`)],
);

/** Logins with the right password that wait for a code. Only the SHA-256 of a token is stored. */
export const twoFactorChallenges = pgTable(
  'two_factor_challenges',
  {
    tokenHash: text('token_hash').primaryKey(),
    userId: text('user_id').notNull(),
    /** Proof of the checked password; a new password invalidates the login. */
    passwordProof: text('password_proof').notNull(),
    /** Wrong codes. */
    failures: integer('failures').notNull().default(0),
    expiresAt: timestamptz('expires_at').notNull(),
  },
  (table) => [
    index('two_factor_challenges_user_id_index').on(table.userId),
    index('two_factor_challenges_expires_at_index').on(table.expiresAt),
  ],
);

const FACTOR_COLUMNS = `
  user_id, secret, last_step, recovery_codes, confirmed_at is not null, failures,
  greatest(0, extract(epoch from locked_until - now()) * 1000)::float8`;

/** The time in which a user must confirm an enrolment. */
export const ENROLMENT_LIFETIME = `interval '1 hour'`;

/** Stores an unconfirmed factor. $1 user, $2 secret. No row: two-factor is already on. A new enrolment keeps an existing lock. */
export const UPSERT_ENROLMENT = `
  insert into two_factors (user_id, secret) values ($1, $2)
  on conflict (user_id) do update set secret = excluded.secret, created_at = now(), last_step = 0
  where two_factors.confirmed_at is null
  returning 1`;

/** Reads a confirmed factor. $1 user. The row lock makes attempts of one user run one after the other. */
export const SELECT_FACTOR_FOR_UPDATE = `select ${FACTOR_COLUMNS} from two_factors where user_id = $1 and confirmed_at is not null for update`;

/** Reads and locks a factor that can still be confirmed. $1 user. */
export const SELECT_ENROLMENT_FOR_UPDATE = `
  select ${FACTOR_COLUMNS} from two_factors
  where user_id = $1 and confirmed_at is null and created_at > now() - ${ENROLMENT_LIFETIME} for update`;

/** Reads and locks the factor of the user who signs in with a challenge. $1 hash of the challenge's token. */
export const SELECT_CHALLENGED_FACTOR_FOR_UPDATE = `
  select ${FACTOR_COLUMNS} from two_factors
  where user_id = (select user_id from two_factor_challenges where token_hash = $1 and expires_at > now())
    and confirmed_at is not null
  for update`;

/**
 * Marks a code as used. $1 user id; $2 the 30-second time step of a TOTP code, or null; $3 the hash of a recovery code, or null. The caller
 * must hold the lock on the user's row in `two_factors`. Returns how many recovery codes are left.
 */
export const USE_CODE = `
  update two_factors set last_step = coalesce($2::bigint, last_step), recovery_codes = array_remove(recovery_codes, $3::text),
    failures = 0, locked_until = null
  where user_id = $1 returning cardinality(recovery_codes)`;

/** Counts a wrong code. $1 user, $2 ms of a new lock, or 0. Needs the row lock. Returns the end of the lock. */
export const COUNT_WRONG_CODE = `
  update two_factors set failures = failures + 1,
    locked_until = case when $2::float8 > 0 then now() + $2::float8 * interval '1 millisecond' else locked_until end
  where user_id = $1 returning locked_until`;

/** $1 user, $2 hashes of recovery codes. */
export const CONFIRM_FACTOR = 'update two_factors set confirmed_at = now(), recovery_codes = $2 where user_id = $1';

/** $1 user, $2 hashes of recovery codes. Needs the row lock. */
export const RENEW_CODES = 'update two_factors set recovery_codes = $2 where user_id = $1';

/** $1 user. No row: two-factor is off. */
export const SELECT_STATUS = `
  select confirmed_at, cardinality(recovery_codes) from two_factors where user_id = $1 and confirmed_at is not null`;

/** $1 user. No row: two-factor is off. */
export const SELECT_STATUS_AND_LOCK = `
  select confirmed_at, cardinality(recovery_codes), failures, case when locked_until > now() then locked_until end
  from two_factors where user_id = $1 and confirmed_at is not null`;

/** $1 users. Returns those whose two-factor is on. */
export const SELECT_USERS_WITH_FACTOR =
  'select user_id from two_factors where user_id = any($1) and confirmed_at is not null';

/** $1 user. Ends the lock after wrong codes. */
export const CLEAR_LOCK = 'update two_factors set failures = 0, locked_until = null where user_id = $1';

/** $1 user. No row: two-factor was not on. */
export const REMOVE_CONFIRMED_FACTOR =
  'delete from two_factors where user_id = $1 and confirmed_at is not null returning 1';

/**
 * Returns the SQL condition that the user of factor `f` exists in none of the tables. Users who can be restored keep their factor.
 *
 * @param tables the users table and, with soft delete, its archive
 */
const userIsMissingSql = (tables: readonly string[]) =>
  tables.map((table) => `not exists (select from ${quoteIdentifier(table)} u where u.id = f.user_id)`).join(' and ');

/** Removes the factors of users who were deleted and cannot be restored. $1 users. */
export const removeFactorsOfMissingUsersSql = (tables: readonly string[]) =>
  `delete from two_factors f where user_id = any($1) and ${userIsMissingSql(tables)}`;

/** $1 maximum number of rows. Removes factors of archived users who can no longer be restored, because no event reports that. */
export const removeOrphanedFactorsSql = (tables: readonly string[]) => `
  delete from two_factors where user_id in (
    select user_id from two_factors f where ${userIsMissingSql(tables)} limit $1 for update skip locked
  ) returning 1`;

/**
 * $1 hash of the token, $2 user, $3 password proof, $4 ms to live. No row: the user has no second factor. The lock on the user's row
 * orders this statement against a deletion of the user: either the deletion ends this login, or this statement finds no user.
 */
export const openChallengeSql = (users: string) => `
  with owner as (
    select id from ${quoteIdentifier(users)} where id = $2 for share
  ), factor as (
    select f.user_id, cardinality(f.recovery_codes) as codes from two_factors f join owner on owner.id = f.user_id
    where f.confirmed_at is not null
  ), opened as (
    insert into two_factor_challenges (token_hash, user_id, password_proof, expires_at)
    select $1, user_id, $3, now() + $4::float8 * interval '1 millisecond' from factor returning expires_at
  )
  select opened.expires_at, factor.codes from opened, factor`;

/**
 * Ends a challenge after the right code and returns its password proof. $1 hash of the token, $2 maximum number of wrong codes. No row:
 * the challenge is used, expired, or out of attempts.
 */
export const CLOSE_CHALLENGE = `
  delete from two_factor_challenges where token_hash = $1 and expires_at > now() and failures < $2 returning password_proof`;

/** Counts a wrong code. $1 hash of the token, $2 maximum number of them. No row: the challenge is used, expired, or out of attempts. */
export const COUNT_WRONG_CODE_OF_CHALLENGE = `
  update two_factor_challenges set failures = failures + 1
  where token_hash = $1 and expires_at > now() and failures < $2 returning 1`;

/** Removes second factors, confirmed or not. $1 users. Returns the users, and whether the factor was turned on. */
export const REMOVE_FACTORS =
  'delete from two_factors where user_id = any($1) returning user_id, confirmed_at is not null';

/** Removes second factors that were turned on at a time or later. $1 users, $2 the time. Returns the same. */
export const REMOVE_FACTORS_CONFIRMED_SINCE = `
  delete from two_factors where user_id = any($1) and (confirmed_at is null or confirmed_at >= $2)
  returning user_id, confirmed_at is not null`;
