import {
  bigint,
  index,
  integer,
  jsonb,
  pgTable,
  sql,
  text,
  timestamptz,
} from '../../platform/data/postgres/drizzle.ts';

/**
 * Every file whose bytes may be in the storage. A row is inserted before the first byte is stored and deleted after the last one is
 * removed, so no stored bytes are ever forgotten.
 */
const storedFiles = pgTable(
  'stored_files',
  {
    id: text('id').primaryKey(),
    /**
     * `receiving`, then `pending` until a record refers to it, then `attached`; `archived` while its record is soft-deleted; `unused` once
     * no record refers to it; `removing` while a sweep removes its bytes; `emptied` after that, until no request can write them any more.
     */
    state: text('state').notNull(),
    /** The time at which a sweep removes the file; null while a record refers to it. */
    dueAt: timestamptz('due_at'),
    /** The resource and field for which it was uploaded; null for copies of uploads, and if code stored it and no record refers to it yet. */
    resource: text('resource'),
    field: text('field'),
    /** The record that refers to it; for a copy of a resumable upload, the id of the upload. */
    recordId: text('record_id'),
    /** The user who uploaded it; null for code and for callers who were not signed in. */
    userId: text('user_id'),
    /** `user:<id>`, `client:<hash of the address>` or `system`: pending uploads are counted by it. */
    uploader: text('uploader').notNull(),
    /** The hash of the token that a client must send to use an upload without a user; null otherwise. */
    tokenHash: text('token_hash'),
    storageKey: text('storage_key').notNull(),
    name: text('name').notNull(),
    type: text('type').notNull(),
    /** The size; for an upload in progress, the announced or maximum size. */
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    /** The bytes of a resumable upload that are durable; null for other uploads. */
    receivedBytes: bigint('received_bytes', { mode: 'number' }),
    /** Counts the requests that send a resumable upload; only the latest one may write. */
    fence: integer('fence').notNull().default(0),
    /** The header `Upload-Metadata` of a resumable upload, until a record refers to it. */
    uploadMetadata: text('upload_metadata'),
    sha256: text('sha256'),
    width: integer('width'),
    height: integer('height'),
    /** The variants of an image by name: `{ key, type, bytes, width, height }`. */
    variants: jsonb('variants'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
  },
  (table) => [
    index('stored_files_due_at_index').on(table.dueAt).where(sql`due_at is not null`),
    index('stored_files_record_id_index').on(table.recordId).where(sql`record_id is not null`),
    index('stored_files_uploader_index').on(table.uploader).where(sql`state in ('receiving', 'pending')`),
  ],
);

/** The tables of files, by name. */
export const fileTables = { stored_files: storedFiles };
