import { bigint, index, integer, pgTable, sql, text, timestamptz } from '../../platform/postgres/drizzle.ts';

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
