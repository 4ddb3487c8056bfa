import type { Database } from '../postgres/database.ts';

const ROWS_AT_ONCE = 1000;
// A relay that is asked to stop waits for the run in work.
const BATCHES_A_RUN = 20;

/**
 * What a sweep does to remove old rows: statement after statement, until one finds less than it may take or the run has
 * lasted long enough; the next run goes on.
 *
 * @param text deletes as many rows as its last parameter says, and returns a row for each
 * @param values its other parameters
 */
export async function removeInBatches(
  database: Pick<Database, 'write'>,
  text: string,
  values: readonly unknown[] = [],
): Promise<void> {
  for (let batch = 0; batch < BATCHES_A_RUN; batch++) {
    if ((await database.write({ text, values: [...values, ROWS_AT_ONCE] })).length < ROWS_AT_ONCE) return;
  }
}
