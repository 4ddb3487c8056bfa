import type { Database } from './database.ts';
import type { Statement } from './pipeline.ts';

/** A batch may have to look through a large table before it finds a row. */
const BATCH_TIMEOUT_MS = 10 * 60_000;

/**
 * Reads all rows of a statement in batches through a cursor. Memory holds only one batch, and the table is scanned once, whatever its
 * indexes. The cursor keeps a connection until it ends; a caller that stops early must close the generator (`for await` does).
 *
 * @param atOnce returns the size of the next batch; called before each batch
 */
export async function* scan<Row extends unknown[]>(
  { pool }: Pick<Database, 'pool'>,
  { text, values }: Statement,
  atOnce: () => number = () => 100,
): AsyncGenerator<Row[]> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // The client has no other error listener between two batches; without this one, a lost connection would end the process.
  const onLost = (error: Error) => {
    broken = error;
  };
  client.on('error', onLost);
  const patience = { rowMode: 'array', query_timeout: BATCH_TIMEOUT_MS } as const;
  try {
    await client.query(`begin read only; set local statement_timeout = ${BATCH_TIMEOUT_MS}`);
    await client.query({ text: `declare scan no scroll cursor for ${text}`, values });
    while (true) {
      const { rows } = await client.query<Row>({ ...patience, text: `fetch ${atOnce()} from scan` });
      if (rows.length === 0) break;
      yield rows;
    }
  } finally {
    await client.query('rollback').catch((failure: Error) => {
      broken = failure;
    });
    client.off('error', onLost);
    client.release(broken);
  }
}
