import pg from 'pg';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { isStartupParameterRefused } from '../../platform/data/postgres/session.ts';
import type { Loss } from '../../runtime/migrations/plan/losses.ts';

/** The number of rows with a value that would be lost; `undefined` if it is not known. */
export interface ValueCounts {
  countOf(loss: Loss): number | undefined;
  /** The reason why counts are missing. */
  problem: string | undefined;
}

const CONNECT_MS = 2000;
const COUNT_MS = 5000;

async function countTable(client: pg.Client, table: string, losses: readonly Loss[]): Promise<[Loss, number][]> {
  const { rows } = await client.query('select to_regclass($1) is not null as is', [quoteIdentifier(table)]);
  if (!rows[0].is) return [];
  const counts = losses.map(({ column }) => (column === undefined ? 'count(*)' : `count(${quoteIdentifier(column)})`));
  const text = `select ${counts.join(', ')} from ${quoteIdentifier(table)}`;
  const { rows: found } = await client.query<string[]>({ text, rowMode: 'array' });
  return losses.map((loss, i) => [loss, Number(found[0]![i])]);
}

/** Creates a connection that only counts, for a few seconds at most. It is not connected yet. */
export function createCountingClient(url: string): pg.Client {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: COUNT_MS,
    query_timeout: COUNT_MS + 1000,
    options: '-c default_transaction_read_only=on',
  });
  // A broken connection is reported by the running query.
  client.on('error', () => undefined);
  return client;
}

/**
 * Counts the values that would be lost in a database.
 *
 * @param url undefined if no database is named; then nothing is counted
 */
export async function countValues(url: string | undefined, losses: readonly Loss[]): Promise<ValueCounts> {
  const counted = new Map<Loss, number>();
  const countOf = (loss: Loss) => counted.get(loss);
  if (url === undefined || url === '')
    return { countOf, problem: 'set DATABASE_URL to see how many rows hold a value' };
  const client = createCountingClient(url);
  let problem: string | undefined;
  try {
    await client.connect();
    for (const [table, own] of Map.groupBy(losses, ({ table }) => table)) {
      for (const [loss, count] of await countTable(client, table, own)) counted.set(loss, count);
    }
  } catch (error) {
    const reason = isStartupParameterRefused(error)
      ? 'DATABASE_URL leads to a connection pooler; set DATABASE_DIRECT_URL'
      : (error as Error).message || 'the database does not respond';
    problem = `the rows that hold a value were not counted: ${reason}`;
  }
  await client.end().catch(() => undefined);
  return { countOf, problem };
}
