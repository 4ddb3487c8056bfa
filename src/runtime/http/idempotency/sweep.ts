import type { Sweep } from '../../../platform/outbox/relay.ts';
import type { Database } from '../../../platform/postgres/database.ts';

/** How long an answer is kept. */
export const KEPT = `interval '24 hours'`;

const ROWS_AT_ONCE = 1000;
/** A relay that is asked to stop waits for the run in work. */
const BATCHES_A_RUN = 20;
const EVERY_MS = 60_000;

// Index idempotency_keys_created_at_index.
const REMOVE = `
  delete from idempotency_keys where id in (
    select id from idempotency_keys where created_at <= now() - ${KEPT}
    order by created_at limit ${ROWS_AT_ONCE} for update skip locked
  ) returning 1`;

/** Removes keys that are over. */
export function idempotencySweep(database: Pick<Database, 'write'>): Sweep {
  return {
    name: 'idempotency keys',
    everyMs: EVERY_MS,
    async run() {
      for (let batch = 0; batch < BATCHES_A_RUN; batch++) {
        if ((await database.write({ text: REMOVE, values: [] })).length < ROWS_AT_ONCE) return;
      }
    },
  };
}
