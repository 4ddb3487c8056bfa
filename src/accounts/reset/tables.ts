import { index, pgTable, text, timestamptz } from '../../platform/postgres/drizzle.ts';

/**
 * The newest link to set a new password, one row per user. Only the SHA-256 of its token is stored. A link that was used or
 * invalidated stays as a row without a token, so that an earlier request whose e-mail is sent late creates no new link.
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
