import type { FeatureParts } from '../../../declare/extension.ts';
import { index, integer, pgTable, text, timestamptz } from '../../../platform/data/postgres/drizzle.ts';
import type { Platform } from '../../../platform/platform.ts';
import { createRetentionSweep } from '../../../platform/work/leased-work/sweeps.ts';
import type { Sweep } from '../../../platform/work/outbox/relay.ts';
import { RETENTION } from './key-leases.ts';
import { responseEncryptionContext } from './stored-response.ts';

export type { Attempt } from './attempt.ts';
export { createIdempotentRequests, type IdempotentRequests } from './idempotent-requests.ts';
export { readIdempotencyKey } from './request-identity.ts';

/** Creates the sweep that removes idempotency keys older than a day. */
export function createIdempotencySweep(database: Platform['database']): Sweep {
  // Uses index idempotency_keys_created_at_index.
  const removals = [{ table: idempotencyKeys, column: 'created_at', keep: RETENTION }];
  return createRetentionSweep(database, { name: 'idempotency keys', removals });
}

/** Creates the feature parts of idempotency keys: their sweep, and the column with encrypted responses. */
export function createIdempotencyParts({ database }: Pick<Platform, 'database'>): FeatureParts {
  const responses = { name: 'idempotency_keys.answer', table: 'idempotency_keys', column: 'answer' };
  return {
    sweeps: [createIdempotencySweep(database)],
    encrypted: [{ ...responses, context: responseEncryptionContext }],
  };
}

/** Requests with an `Idempotency-Key`, and their responses. */
const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    /** SHA-256 of the user or client, the route and the key. */
    id: text('id').primaryKey(),
    /** A keyed hash of the request's query and body; null: the request had no effect, so a different request may use the key. */
    fingerprint: text('fingerprint'),
    /** The id reserved for the record of a create, the same for each repetition. */
    recordId: text('record_id').notNull(),
    /** The fence of the lease, a random id: only the request that holds the lease stores its response. */
    claim: text('claim').notNull(),
    /** The end of the lease: without a response by then, a repeated request may reclaim the key. */
    claimedUntil: timestamptz('claimed_until').notNull(),
    /** Null: no response yet. */
    status: integer('status'),
    /** Ciphertext of the response; null: the response was not stored. */
    answer: text('answer'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
  },
  (table) => [index('idempotency_keys_created_at_index').on(table.createdAt)],
);

/** The table of idempotency keys, by name. */
export const idempotencyTables = { idempotency_keys: idempotencyKeys };
