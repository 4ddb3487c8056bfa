import { index, integer, jsonb, pgTable, sql, text, timestamptz } from '../../../platform/postgres/drizzle.ts';

/** Erasures of accounts: what is to be done, and the report of what was. Nothing personal is in it but ids. */
export const erasures = pgTable(
  'privacy_erasures',
  {
    id: text('id').primaryKey(),
    userId: text('user_id').notNull().unique(),
    /** The user themselves, or an admin. */
    requestedBy: text('requested_by').notNull(),
    /** `running` until the record of the user is gone, then `finished`. */
    status: text('status').notNull().default('running'),
    /** How much by what and where: `{ "deleted:post": 12, "anonymized:comment": 3, "erased:sessions": 2 }`. */
    counts: jsonb('counts').notNull().default({}),
    /** What stays, and why: `[{ name, count, why }]`. */
    kept: jsonb('kept').notNull().default([]),
    requestedAt: timestamptz('requested_at').notNull().defaultNow(),
    finishedAt: timestamptz('finished_at'),
    /** When there is something to do; null: never again. */
    dueAt: timestamptz('due_at').defaultNow(),
    /** How often it was looked again for what came late. */
    looks: integer('looks').notNull().default(0),
    /** The e-mail that told the user; null: none, or it is forgotten. */
    noticeId: text('notice_id'),
  },
  (table) => [
    index('privacy_erasures_due_at_index').on(table.dueAt).where(sql`due_at is not null`),
    index('privacy_erasures_notice_id_index').on(table.noticeId).where(sql`notice_id is not null`),
  ],
);
