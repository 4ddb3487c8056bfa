import type { Executor } from './queryable.ts';

const ROWS_AT_ONCE = 1000;

/**
 * Runs a statement until it finds less than it may take.
 *
 * @param text changes as many rows as its last parameter says, so that it does not find them again, and returns a row for each
 * @param values its other parameters
 * @returns how many rows
 */
export async function writeInBatches(database: Executor, text: string, values: readonly unknown[]): Promise<number> {
  for (let total = 0; ; ) {
    const { length } = await database.write({ text, values: [...values, ROWS_AT_ONCE] });
    total += length;
    if (length < ROWS_AT_ONCE) return total;
  }
}
