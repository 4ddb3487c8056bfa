import { index, pgTable, sql, text, timestamptz } from '../../platform/postgres/drizzle.ts';

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
  },
  (table) => [
    index('api_keys_user_id_index').on(table.userId),
    index('api_keys_expires_at_index').on(table.expiresAt),
    index('api_keys_revoked_at_index').on(table.revokedAt).where(sql`revoked_at is not null`),
  ],
);
