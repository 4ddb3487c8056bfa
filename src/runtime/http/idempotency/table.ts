import { index, integer, pgTable, text, timestamptz } from '../../../platform/postgres/drizzle.ts';

/** Requests with an `Idempotency-Key`, and their responses. */
const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    /** SHA-256 of the user or client, the route and the key. */
    id: text('id').primaryKey(),
    /** A keyed hash of the query and body; null: the request had no effect, so another one may have the key. */
    fingerprint: text('fingerprint'),
    /** The id that the record of a create gets, however often the request is repeated. */
    recordId: text('record_id').notNull(),
    /** The fence of the lease: only the request that has it stores its response. */
    claim: text('claim').notNull(),
    /** The end of the lease: without a response by then, a repeated request may reclaim the key. */
    claimedUntil: timestamptz('claimed_until').notNull(),
    /** Null: no response yet. */
    status: integer('status'),
    /** Ciphertext of the response; null: it was not stored. */
    answer: text('answer'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
  },
  (table) => [index('idempotency_keys_created_at_index').on(table.createdAt)],
);

/** The table, by name. */
export const idempotencyTables = { idempotency_keys: idempotencyKeys };
