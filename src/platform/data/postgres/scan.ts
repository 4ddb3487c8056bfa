import type { Statement } from './connection.ts';
import type { Database } from './database.ts';
import type { Queryable } from './queryable.ts';

/** Time limit of a batch in ms. Long, because the statement may read through a large table before it finds a matching row. */
const BATCH_TIMEOUT_MS = 10 * 60_000;

/**
 * Reads all rows of a statement in batches through a cursor. Memory holds only one batch, and the table is scanned once, whatever its
 * indexes. The cursor keeps a connection until it ends; a caller that stops early must close the generator (`for await` does).
 *
 * @param batchSize returns the size of the next batch; called before each batch
 */
export async function* scanRows<Row extends unknown[]>(
  database: Pick<Database, 'holdConnection'>,
  { text, values }: Statement,
  batchSize: () => number = () => 100,
): AsyncGenerator<Row[]> {
  const { connection, setSilenceLimit, release } = await database.holdConnection();
  let broken = false;
  setSilenceLimit(BATCH_TIMEOUT_MS);
  try {
    await connection.execute(`begin read only; set local statement_timeout = ${BATCH_TIMEOUT_MS}`);
    await connection.run({ text: `declare scan no scroll cursor for ${text}`, values: [...values] });
    while (true) {
      const rows = await connection.run<Row>({ text: `fetch ${batchSize()} from scan`, values: [] });
      if (rows.length === 0) break;
      yield rows;
    }
  } finally {
    await connection.execute('rollback').catch(() => {
      broken = true;
    });
    release(broken);
  }
}

/**
 * Yields all rows of a select as objects, reading one page at a time.
 *
 * @param text a statement whose first column is the key by which it is ordered. Its parameters are `values`, then the last key of the
 *   previous page (empty at first), then the page size
 * @param names the names of the columns, including the key
 * @param batchSize the number of rows per page; choose fewer if rows may be large
 */
export async function* readRowsInPages(
  database: Pick<Queryable, 'readSlowly'>,
  text: string,
  names: readonly string[],
  values: readonly unknown[],
  batchSize = 500,
): AsyncGenerator<Record<string, unknown>> {
  for (let after = ''; ; ) {
    const rows = await database.readSlowly<unknown[]>({ text, values: [...values, after, batchSize] });
    for (const row of rows) yield Object.fromEntries(names.map((name, i) => [name, row[i]]));
    if (rows.length < batchSize) return;
    after = rows.at(-1)![0] as string;
  }
}
