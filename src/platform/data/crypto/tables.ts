import { pgTable, text, timestamptz } from '../postgres/drizzle.ts';

/** Every key that has encrypted something in this database. The keys themselves are never stored. */
export const encryptionKeys = pgTable('encryption_keys', {
  /** The fingerprint of the key: see `Keyring.keyIds`. */
  keyId: text('key_id').primaryKey(),
  /** A ciphertext of a known text: only the right key decrypts it. */
  canary: text('canary').notNull(),
  firstUsedAt: timestamptz('first_used_at').notNull().defaultNow(),
  /** When a process that encrypts with the key last reported its use. */
  lastUsedAt: timestamptz('last_used_at').notNull().defaultNow(),
  /** When the key was retired: no value uses the key any more, so processes may start without it. Null: in use. */
  retiredAt: timestamptz('retired_at'),
});

/** The running processes and their keys. */
export const encryptionProcesses = pgTable('encryption_processes', {
  id: text('id').primaryKey(),
  /** The ids of the process's keys, newest first: the first key encrypts. */
  keyIds: text('key_ids').array().notNull(),
  seenAt: timestamptz('seen_at').notNull().defaultNow(),
});
