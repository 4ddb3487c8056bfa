import type { Client } from 'pg';
import { StartupError } from '../../platform/environment.ts';
import { quoteIdentifier } from '../../platform/postgres/quote-identifier.ts';
import type { Loss } from './losses.ts';

/** What of that which is no longer declared is dropped: nothing, what holds no value, anything. */
export type MayDrop = 'nothing' | 'empty' | 'anything';

/** A loss, and how many rows hold a value of it. */
interface Counted extends Loss {
  rows: number;
}

async function counted(client: Client, losses: readonly Loss[]): Promise<Counted[]> {
  const found: Counted[] = [];
  for (const [table, own] of Map.groupBy(losses, (loss) => loss.table)) {
    const counts = own.map(({ column }) => (column === undefined ? 'count(*)' : `count(${quoteIdentifier(column)})`));
    const text = `select ${counts.join(', ')} from ${quoteIdentifier(table)}`;
    const { rows } = await client.query<string[]>({ text, rowMode: 'array' });
    found.push(...own.map((loss, i) => ({ ...loss, rows: Number(rows[0]![i]) })));
  }
  return found;
}

function nameOf({ table, column }: Loss): string {
  return column === undefined ? `table ${table}` : `${table}.${column}`;
}

function explained(loss: Counted): string {
  const { table, column, candidates, rows } = loss;
  const count = `${rows} ${rows === 1 ? 'row' : 'rows'}`;
  const held = column === undefined ? `it has ${count}` : `${count} ${rows === 1 ? 'holds' : 'hold'} a value`;
  const now = candidates.length > 0 ? `is called ${candidates.join(' or ')} now` : 'has another name now';
  return `${nameOf(loss)}: ${held}; if it ${now}, declare that there with renamedFrom('${column ?? table}')`;
}

/**
 * Decides over what is no longer declared.
 *
 * @returns what is dropped with values in it, a line each
 * @throws StartupError for what must not be dropped, with the ways out
 */
export async function decideLosses(client: Client, losses: readonly Loss[], mayDrop: MayDrop): Promise<string[]> {
  const all = await counted(client, losses);
  const lost = mayDrop === 'nothing' ? all : all.filter(({ rows }) => rows > 0);
  if (lost.length === 0 || mayDrop === 'anything') return lost.map((loss) => `${nameOf(loss)} (${loss.rows} rows)`);
  const afresh = mayDrop === 'empty' ? ', or npm run dev -- --fresh, which empties the database' : '';
  throw new StartupError('The declarations no longer hold what the database has; this would lose data:', [
    ...lost.map(explained),
    `to keep the values, put the declaration back; to lose them: npm run dev -- --allow-loss${afresh}`,
  ]);
}
