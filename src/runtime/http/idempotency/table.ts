import { index, integer, pgTable, text, timestamptz } from '../../../platform/postgres/drizzle.ts';

/** Requests that came with an `Idempotency-Key`, and what was answered. */
const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    /** SHA-256 of who, route and key. */
    id: text('id').primaryKey(),
    /** A keyed hash of what was sent; null: nothing was done for it, so something else may come with the key. */
    fingerprint: text('fingerprint'),
    /** What the record of a create gets as id, however often it is tried. */
    recordId: text('record_id').notNull(),
    /** Whose try it is: only that one writes its answer. */
    claim: text('claim').notNull(),
    /** Without an answer by then the try has failed, and another one may begin. */
    claimedUntil: timestamptz('claimed_until').notNull(),
    /** Null: no answer yet. */
    status: integer('status'),
    /** Ciphertext; null: none was kept. */
    answer: text('answer'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
  },
  (table) => [index('idempotency_keys_created_at_index').on(table.createdAt)],
);

/** By name. */
export const idempotencyTables = { idempotency_keys: idempotencyKeys };
