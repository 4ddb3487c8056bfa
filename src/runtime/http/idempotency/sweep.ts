import type { Sweep } from '../../../platform/outbox/relay.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import { removeInBatches } from '../../../platform/postgres/write-in-batches.ts';

/** How long an answer is kept. */
export const KEPT = `interval '24 hours'`;

const EVERY_MS = 60_000;

// Index idempotency_keys_created_at_index.
const REMOVE = `
  delete from idempotency_keys where id in (
    select id from idempotency_keys where created_at <= now() - ${KEPT}
    order by created_at limit $1 for update skip locked
  ) returning 1`;

/** Removes keys that are over. */
export function idempotencySweep(database: Pick<Database, 'write'>): Sweep {
  return {
    name: 'idempotency keys',
    everyMs: EVERY_MS,
    run: () => removeInBatches(database, REMOVE),
  };
}
