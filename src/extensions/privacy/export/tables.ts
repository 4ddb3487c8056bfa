import {
  bigint,
  customType,
  index,
  integer,
  pgTable,
  primaryKey,
  sql,
  text,
  timestamptz,
  uniqueIndex,
} from '../../../platform/postgres/drizzle.ts';

const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/** Exports of what is held about users. Whoever asks has one at a time of each user. */
export const privacyExports = pgTable(
  'privacy_exports',
  {
    id: text('id').primaryKey(),
    userId: text('user_id').notNull(),
    /** The user themselves, or an admin. */
    requestedBy: text('requested_by').notNull(),
    /** `waiting`, `running`, `ready` or `failed`. */
    status: text('status').notNull().default('waiting'),
    /** How often it was begun: who is at it, too. */
    attempts: integer('attempts').notNull().default(0),
    /** Until then it belongs to the worker that began it, or to the job that waits for one. */
    leaseUntil: timestamptz('lease_until').notNull(),
    /** Ciphertext of what the key of the chunks and the token of the link are derived from. */
    secret: text('secret').notNull(),
    /** SHA-256 of the token of the link. */
    tokenHash: text('token_hash').notNull().unique(),
    /** Records so far. */
    records: bigint('records', { mode: 'number' }).notNull().default(0),
    /** Of the file; null: it is not whole. */
    bytes: bigint('bytes', { mode: 'number' }),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    finishedAt: timestamptz('finished_at'),
    /** Null: it is not finished. */
    expiresAt: timestamptz('expires_at'),
  },
  (table) => [
    uniqueIndex('privacy_exports_user_unique').on(table.userId, table.requestedBy),
    index('privacy_exports_requested_by_index').on(table.requestedBy),
    index('privacy_exports_expires_at_index').on(table.expiresAt),
    index('privacy_exports_open_index').on(table.leaseUntil).where(sql`status in ('waiting', 'running')`),
  ],
);

/** The files, in pieces that fit into memory, each encrypted. */
export const privacyExportChunks = pgTable(
  'privacy_export_chunks',
  {
    exportId: text('export_id')
      .notNull()
      .references(() => privacyExports.id, { onDelete: 'cascade' }),
    position: integer('position').notNull(),
    data: bytes('data').notNull(),
  },
  (table) => [primaryKey({ columns: [table.exportId, table.position] })],
);
