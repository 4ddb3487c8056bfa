import { bigint, index, integer, pgTable, sql, text, timestamptz } from '../../platform/postgres/drizzle.ts';

/** The second factors of users: one row for who has, or is about to have, one. Whoever tries a code locks the row. */
export const twoFactors = pgTable(
  'two_factors',
  {
    userId: text('user_id').primaryKey(),
    /** Ciphertext of the TOTP secret. */
    secret: text('secret').notNull(),
    /** The last time step of which a code was taken: it and all before it are spent. */
    lastStep: bigint('last_step', { mode: 'number' }).notNull().default(0),
    /** Hashes of the recovery codes that are left. */
    recoveryCodes: text('recovery_codes').array().notNull().default([]),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    /** Null: enrolled, and not on until a code has shown that the app knows the secret. */
    confirmedAt: timestamptz('confirmed_at'),
    /** Wrong codes since the last right one, wherever they were tried. */
    failures: integer('failures').notNull().default(0),
    lockedUntil: timestamptz('locked_until'),
  },
  (table) => [index('two_factors_unconfirmed_index').on(table.createdAt).where(sql`confirmed_at is null`)],
);

/** Logins whose password was right and which wait for a code. Only the SHA-256 of a token is stored. */
export const twoFactorChallenges = pgTable(
  'two_factor_challenges',
  {
    tokenHash: text('token_hash').primaryKey(),
    userId: text('user_id').notNull(),
    /** Of the password that was right: with another one the login is void. */
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
