import { pgTable, text, timestamptz } from '../postgres/drizzle.ts';

/** Every key that encrypted something in this database. Keys themselves are never stored. */
export const encryptionKeys = pgTable('encryption_keys', {
  /** The key's fingerprint. */
  keyId: text('key_id').primaryKey(),
  /** A ciphertext of a known text: only the right key decrypts it. */
  canary: text('canary').notNull(),
  firstUsedAt: timestamptz('first_used_at').notNull().defaultNow(),
  /** When a process that encrypts with it last said so. */
  lastUsedAt: timestamptz('last_used_at').notNull().defaultNow(),
  /** No value carries it any more: it may be missing. */
  retiredAt: timestamptz('retired_at'),
});

/** The processes that run, and the keys that they have. */
export const encryptionProcesses = pgTable('encryption_processes', {
  id: text('id').primaryKey(),
  /** Newest first: the first one encrypts. */
  keyIds: text('key_ids').array().notNull(),
  seenAt: timestamptz('seen_at').notNull().defaultNow(),
});
