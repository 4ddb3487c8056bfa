import type { OutboxConsumer, Sweep } from '../../platform/outbox/relay.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { DELETE_OLD, REVOKE_OF_GONE } from './sql.ts';

const KEEP_DAYS = 30;
const ROWS_AT_ONCE = 1000;
/** A relay that is asked to stop waits for the run in work. */
const BATCHES_A_RUN = 20;
const EVERY_MS = 10 * 60_000;

/** Removes keys that were revoked or have expired 30 days ago. */
export function oldKeysSweep(database: Pick<Database, 'write'>): Sweep {
  return {
    name: 'old API keys',
    everyMs: EVERY_MS,
    async run() {
      for (let batch = 0; batch < BATCHES_A_RUN; batch++) {
        const rows = await database.write({ text: DELETE_OLD, values: [KEEP_DAYS, ROWS_AT_ONCE] });
        if (rows.length < ROWS_AT_ONCE) return;
      }
    },
  };
}

/**
 * Revokes the keys of users who are deleted. They stopped working at once; this is for what is stored of them.
 *
 * @param users the name of the user resource
 */
export function keysOfGoneUsers(users: string): OutboxConsumer {
  return {
    wants: (row) => row.name === `${users}.deleted`,
    async handle(rows, tx) {
      await tx.write({ text: REVOKE_OF_GONE, values: [rows.map((row) => row.recordId)] });
      return undefined;
    },
  };
}
