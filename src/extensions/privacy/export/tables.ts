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
} from '../../../extension/index.ts';

const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/** Exports of users' data. Each requester has one export of each user at a time. */
export const privacyExports = pgTable(
  'privacy_exports',
  {
    id: text('id').primaryKey(),
    userId: text('user_id').notNull(),
    /** The id of the requester: the exported user or an admin. */
    requestedBy: text('requested_by').notNull(),
    /** `waiting`, `running`, `ready` or `failed`. */
    status: text('status').notNull().default('waiting'),
    /** How often the export was claimed. Also identifies the current claim. */
    attempts: integer('attempts').notNull().default(0),
    /** Until then the export is reserved for the worker that claimed it, or for its waiting job. */
    leaseUntil: timestamptz('lease_until').notNull(),
    /** Ciphertext of the secret from which the key of the chunks and the token of the link are derived. */
    secret: text('secret').notNull(),
    /** SHA-256 of the token of the link. */
    tokenHash: text('token_hash').notNull().unique(),
    /** Number of records so far. */
    records: bigint('records', { mode: 'number' }).notNull().default(0),
    /** Size of the file; null while it is incomplete. */
    bytes: bigint('bytes', { mode: 'number' }),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    finishedAt: timestamptz('finished_at'),
    /** Null until the export is finished. */
    expiresAt: timestamptz('expires_at'),
  },
  (table) => [
    uniqueIndex('privacy_exports_user_unique').on(table.userId, table.requestedBy),
    index('privacy_exports_requested_by_index').on(table.requestedBy),
    index('privacy_exports_expires_at_index').on(table.expiresAt),
    index('privacy_exports_open_index').on(table.leaseUntil).where(sql`status in ('waiting', 'running')`),
  ],
);

/** The files, in chunks that fit into memory. Each chunk is encrypted. */
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
