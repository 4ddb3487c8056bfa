import { index, pgTable, text, timestamptz } from '../../platform/postgres/drizzle.ts';
import { sessions } from '../tables.ts';

/** Devices that push notifications go to. A device that follows a session goes when the session's row goes. */
export const devices = pgTable(
  'devices',
  {
    id: text('id').primaryKey(),
    userId: text('user_id').notNull(),
    /** Null: not bound to a session, stays until removed. */
    sessionId: text('session_id').references(() => sessions.id, { onDelete: 'cascade' }),
    token: text('token').notNull(),
    /** `tokenHash`: one device per token, on whichever platform. Tokens may be too long for an index. */
    tokenHash: text('token_hash').notNull().unique(),
    platform: text('platform').notNull(),
    name: text('name'),
    appVersion: text('app_version'),
    locale: text('locale'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    /** When it was last registered. */
    lastSeenAt: timestamptz('last_seen_at').notNull().defaultNow(),
  },
  (table) => [index('devices_user_id_index').on(table.userId), index('devices_session_id_index').on(table.sessionId)],
);
