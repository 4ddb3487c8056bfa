import type { Queryable } from './queryable.ts';

const ROWS_AT_ONCE = 500;

/**
 * All rows of a select as objects, a page at a time.
 *
 * @param text its first column is a key, in whose order they come; it takes the values, then the last key of the page before (empty
 *   at first), then how many
 * @param names of the columns, the key included
 */
export async function* rowsInPages(
  database: Pick<Queryable, 'readSlowly'>,
  text: string,
  names: readonly string[],
  values: readonly unknown[],
): AsyncGenerator<Record<string, unknown>> {
  for (let after = ''; ; ) {
    const rows = await database.readSlowly<unknown[]>({ text, values: [...values, after, ROWS_AT_ONCE] });
    for (const row of rows) yield Object.fromEntries(names.map((name, i) => [name, row[i]]));
    if (rows.length < ROWS_AT_ONCE) return;
    after = rows.at(-1)![0] as string;
  }
}
