import { index, integer, jsonb, pgTable, sql, text, timestamptz } from '../postgres/drizzle.ts';

/** E-mails to be sent, and for a while the results of sent ones. */
const mails = pgTable(
  'mails',
  {
    id: text('id').primaryKey(),
    /** The kind of the composer that creates the text when the e-mail is sent; null: the text is in `content`. */
    kind: text('kind'),
    /** The input of the composer. */
    data: jsonb('data'),
    recipient: text('recipient'),
    /** The user whose former address the recipient is. Null while the recipient is a current address. */
    userId: text('user_id'),
    /** Subject and text, encrypted; removed once the e-mail is sent. */
    content: text('content'),
    /** `queued`, then `sent`, `captured` or `failed`. */
    status: text('status').notNull().default('queued'),
    attempts: integer('attempts').notNull().default(0),
    /** The earliest time of the next attempt. */
    dueAt: timestamptz('due_at').notNull().defaultNow(),
    /** The end of the lease of the worker that claimed it. */
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
