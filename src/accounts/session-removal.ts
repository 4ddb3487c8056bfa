import type { OutboxConsumer, Sweep } from '../platform/outbox/relay.ts';
import type { Database } from '../platform/postgres/database.ts';

const ROWS_AT_ONCE = 1000;
/** A relay that is asked to stop waits for the run in work. */
const BATCHES_A_RUN = 20;
const EVERY_MS = 60_000;

// Index sessions_expires_at_index. Devices that follow sessions go with them, by their foreign key.
const REMOVE_EXPIRED = `
  delete from sessions where id in (
    select id from sessions where expires_at <= now() order by expires_at limit ${ROWS_AT_ONCE} for update skip locked
  ) returning 1`;
// Index sessions_user_id_index.
const REMOVE_OF_USERS = 'delete from sessions where user_id = any($1)';

/** Removes sessions that have expired. */
export function sessionSweep(database: Pick<Database, 'write'>): Sweep {
  return {
    name: 'expired sessions',
    everyMs: EVERY_MS,
    async run() {
      for (let batch = 0; batch < BATCHES_A_RUN; batch++) {
        if ((await database.write({ text: REMOVE_EXPIRED, values: [] })).length < ROWS_AT_ONCE) return;
      }
    },
  };
}

/** Removes the sessions of users who are deleted: they ended at once, addresses and user agents must not outlive them. */
export const sessionsOfDeletedUsers: OutboxConsumer = {
  wants: (row) => row.name === 'user.deleted',
  async handle(rows, tx) {
    await tx.write({ text: REMOVE_OF_USERS, values: [rows.map((row) => row.recordId)] });
    return undefined;
  },
};
