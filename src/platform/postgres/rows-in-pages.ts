import type { Queryable } from './queryable.ts';

/**
 * Yields all rows of a select as objects, reading one page at a time.
 *
 * @param text a statement whose first column is the key by which it is ordered. Its parameters are `values`, then the last key of the
 *   previous page (empty at first), then the page size
 * @param names the names of the columns, including the key
 * @param atOnce the number of rows per page; choose fewer if rows may be large
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
