import type { OutboxConsumer, Sweep } from '../../platform/outbox/relay.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { REMOVE_CHALLENGES, REMOVE_EXPIRED, REMOVE_OF_USERS, REMOVE_UNCONFIRMED } from './sql.ts';

const ROWS_AT_ONCE = 1000;
/** A relay that is asked to stop waits for the run in work. */
const BATCHES_A_RUN = 20;
const EVERY_MS = 60_000;

/** Removes logins that got no code in time, and enrolments that were never confirmed. */
export function twoFactorSweep(database: Pick<Database, 'write'>): Sweep {
  async function clear(text: string): Promise<void> {
    for (let batch = 0; batch < BATCHES_A_RUN; batch++) {
      if ((await database.write({ text, values: [ROWS_AT_ONCE] })).length < ROWS_AT_ONCE) return;
    }
  }
  return {
    name: 'two-factor: logins and enrolments that ran out',
    everyMs: EVERY_MS,
    async run() {
      await clear(REMOVE_EXPIRED);
      await clear(REMOVE_UNCONFIRMED);
    },
  };
}

/** Removes the second factors of users who are deleted. */
export const factorsOfDeletedUsers: OutboxConsumer = {
  wants: (row) => row.name === 'user.deleted',
  async handle(rows, tx) {
    const users = rows.map((row) => row.recordId);
    await tx.write({ text: REMOVE_OF_USERS, values: [users] });
    await tx.write({ text: REMOVE_CHALLENGES, values: [users] });
    return undefined;
  },
};
