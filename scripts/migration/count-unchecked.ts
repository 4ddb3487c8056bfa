import { quoteIdentifier } from '../../src/platform/postgres/quote-identifier.ts';
import type { Unchecked } from '../../src/runtime/migrations/column-changes.ts';
import type { Plan } from '../../src/runtime/migrations/diff.ts';
import { countingClient } from './count-values.ts';

function told(count: number): string {
  if (count === 0) return 'all rows hold such values';
  return count === 1 ? '1 row holds another value' : `${count} rows hold other values`;
}

function countText({ table, column, array }: Unchecked): string {
  const name = quoteIdentifier(column);
  const other = array ? `not ${name} <@ $1::text[]` : `${name} <> all($1::text[])`;
  return `select count(*)::int as count from ${quoteIdentifier(table)} where ${other}`;
}

/**
 * The notes of a plan, with how many rows hold what an enum does not list.
 *
 * @param url undefined when no database is named: then nothing is counted
 */
export async function countUnchecked(url: string | undefined, { notes, unchecked }: Plan): Promise<string[]> {
  if (url === undefined || url === '' || unchecked.length === 0) return [...notes];
  const counted = new Map<string, string>();
  const client = countingClient(url);
  try {
    await client.connect();
    for (const one of unchecked) {
      const { rows } = await client.query(countText(one), [one.values]);
      counted.set(one.note, told(rows[0].count));
    }
  } catch (error) {
    const why = (error as Error).message || 'the database does not answer';
    for (const { note } of unchecked) if (!counted.has(note)) counted.set(note, `rows were not counted: ${why}`);
  }
  await client.end().catch(() => undefined);
  return notes.map((note) => (counted.has(note) ? `${note}; ${counted.get(note)}` : note));
}
