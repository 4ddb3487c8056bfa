import { index, integer, jsonb, pgTable, sql, text, timestamptz } from '../../../platform/postgres/drizzle.ts';

/** Erasures of accounts, with their reports. The only personal data in it are ids. */
export const erasures = pgTable(
  'privacy_erasures',
  {
    id: text('id').primaryKey(),
    userId: text('user_id').notNull().unique(),
    /** The user or an admin. */
    requestedBy: text('requested_by').notNull(),
    /** `running` until the user record is deleted, then `finished`. */
    status: text('status').notNull().default('running'),
    /** Numbers of rows by kind: `{ "deleted:post": 12, "anonymized:comment": 3, "erased:sessions": 2 }`. */
    counts: jsonb('counts').notNull().default({}),
    /** The data that is kept, and the reasons: `[{ name, count, why }]`. */
    kept: jsonb('kept').notNull().default([]),
    requestedAt: timestamptz('requested_at').notNull().defaultNow(),
    finishedAt: timestamptz('finished_at'),
    /** The next time at which the job must run; null: never. */
    dueAt: timestamptz('due_at').defaultNow(),
    /** The number of checks for late data so far. */
    looks: integer('looks').notNull().default(0),
    /** The e-mail to the user; null if there is none or it has been removed. */
    noticeId: text('notice_id'),
  },
  (table) => [
    index('privacy_erasures_due_at_index').on(table.dueAt).where(sql`due_at is not null`),
    index('privacy_erasures_notice_id_index').on(table.noticeId).where(sql`notice_id is not null`),
  ],
);
