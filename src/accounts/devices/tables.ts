import { index, pgTable, text, timestamptz } from '../../platform/postgres/drizzle.ts';
import { sessions } from '../sessions/tables.ts';

/** Devices that receive push notifications. A device bound to a session is removed with the session's row. */
export const devices = pgTable(
  'devices',
  {
    id: text('id').primaryKey(),
    userId: text('user_id').notNull(),
    /** Null if the device is not bound to a session; it then stays until it is removed. */
    sessionId: text('session_id').references(() => sessions.id, { onDelete: 'cascade' }),
    token: text('token').notNull(),
    /** See `tokenHash`: one device per token, whatever the platform. Hashed because tokens may be too long for an index. */
    tokenHash: text('token_hash').notNull().unique(),
    platform: text('platform').notNull(),
    name: text('name'),
    appVersion: text('app_version'),
    locale: text('locale'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    /** Time of the last registration. */
    lastSeenAt: timestamptz('last_seen_at').notNull().defaultNow(),
  },
  (table) => [index('devices_user_id_index').on(table.userId), index('devices_session_id_index').on(table.sessionId)],
);
