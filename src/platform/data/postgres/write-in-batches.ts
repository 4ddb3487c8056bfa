import type { Executor } from './queryable.ts';

const ROWS_PER_BATCH = 1000;
/** Maximum number of batches in one sweep, because a stopping process waits for the sweep in progress. The next sweep continues. */
export const BATCHES_PER_SWEEP = 20;

/**
 * Returns a statement that deletes rows, and skips those that another transaction has locked. The ids are computed first, so that the deletion
 * uses the primary key.
 *
 * @param table the table, which may have an alias
 * @param condition the condition, order and limit
 */
export const deleteUnlockedSql = (table: string, condition: string, returning = '1') => `
  delete from ${table} where id = any(array(select id from ${table} where ${condition} for update skip locked))
  returning ${returning}`;

/**
 * Runs a statement repeatedly until it affects fewer rows than its limit.
 *
 * @param text a statement that changes at most as many rows as its last parameter says, never the same row twice, and returns each of them
 * @param values the parameters of the statement before the last one
 * @returns the total number of rows that the statement returned
 */
export async function writeInBatches(
  database: Executor,
  text: string,
  values: readonly unknown[],
  { rowsPerBatch = ROWS_PER_BATCH, maxBatches = Number.POSITIVE_INFINITY } = {},
): Promise<number> {
  let total = 0;
  for (let batch = 0; batch < maxBatches; batch++) {
    const { length } = await database.write({ text, values: [...values, rowsPerBatch] });
    total += length;
    if (length < rowsPerBatch) break;
  }
  return total;
}
