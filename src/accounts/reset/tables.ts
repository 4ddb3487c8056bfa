import { index, pgTable, text, timestamptz } from '../../platform/postgres/drizzle.ts';

/**
 * The link by which a user may set a new password: the newest one, since it replaces the one before. Only the SHA-256 of its
 * token is stored. A link that was used or taken back stays as a row without a token, so that an e-mail that was asked for
 * before, and is sent late, makes no new one.
 */
export const passwordResets = pgTable(
  'password_resets',
  {
    userId: text('user_id').primaryKey(),
    tokenHash: text('token_hash').unique(),
    requestedAt: timestamptz('requested_at').notNull(),
    expiresAt: timestamptz('expires_at').notNull(),
  },
  (table) => [index('password_resets_expires_at_index').on(table.expiresAt)],
);
