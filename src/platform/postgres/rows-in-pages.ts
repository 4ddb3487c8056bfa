import type { Queryable } from './queryable.ts';

/**
 * All rows of a select as objects, a page at a time.
 *
 * @param text its first column is a key, in whose order they come; it takes the values, then the last key of the page before (empty
 *   at first), then how many
 * @param names of the columns, the key included
 * @param atOnce rows of a page: few, where rows may be large
 */
export async function* rowsInPages(
  database: Pick<Queryable, 'readSlowly'>,
  text: string,
  names: readonly string[],
  values: readonly unknown[],
  atOnce = 500,
): AsyncGenerator<Record<string, unknown>> {
  for (let after = ''; ; ) {
    const rows = await database.readSlowly<unknown[]>({ text, values: [...values, after, atOnce] });
    for (const row of rows) yield Object.fromEntries(names.map((name, i) => [name, row[i]]));
    if (rows.length < atOnce) return;
    after = rows.at(-1)![0] as string;
  }
}
