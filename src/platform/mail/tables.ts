import { index, integer, jsonb, pgTable, sql, text, timestamptz } from '../postgres/drizzle.ts';

/** E-mails: what is to be sent, and for a while what became of it. */
const mails = pgTable(
  'mails',
  {
    id: text('id').primaryKey(),
    /** Who makes its text when it is sent; null: its text is in `content`. */
    kind: text('kind'),
    /** What that maker is given. */
    data: jsonb('data'),
    recipient: text('recipient'),
    /** The user whose former address the recipient is. Null while the recipient is a current address. */
    userId: text('user_id'),
    /** Subject and text, encrypted; removed once it is sent. */
    content: text('content'),
    /** `queued`, then `sent`, `captured` or `failed`. */
    status: text('status').notNull().default('queued'),
    attempts: integer('attempts').notNull().default(0),
    /** Not before then. */
    dueAt: timestamptz('due_at').notNull().defaultNow(),
    /** Until then it belongs to the worker that claimed it. */
    claimedUntil: timestamptz('claimed_until'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    finishedAt: timestamptz('finished_at'),
    error: text('error'),
  },
  (table) => [
    index('mails_due_at_index').on(table.dueAt).where(sql`finished_at is null`),
    index('mails_finished_at_index').on(table.finishedAt),
    index('mails_user_id_index').on(table.userId).where(sql`user_id is not null`),
  ],
);

/** The tables of e-mail, by name. */
export const mailTables = { mails };
