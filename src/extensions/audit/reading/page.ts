import type { Queryable } from '../../../platform/postgres/queryable.ts';
import type { MeasuredPage } from '../../../records/serialize/response-bytes.ts';
import { type Entry, type EntryRow, restoreSealedValues, toEntry, type ValuesColumns } from '../trail/entry.ts';
import { createPageStatement, type ListQuery } from './query.ts';

type SizedRow = [...EntryRow, ...ValuesColumns, bytes: number, isFollowed: true | null];

/**
 * Creates the function that reads a page of entries, newest first, and one more entry if there is another page.
 *
 * @returns a function whose `bytes` is the approximate maximum size of the page
 */
export function createPageReader({
  readSlowly,
}: Pick<Queryable, 'readSlowly'>): (query: ListQuery, bytes: number) => Promise<MeasuredPage<Entry>> {
  return async (query, bytes) => {
    const sizedRows = await readSlowly<SizedRow>(createPageStatement(query, bytes));
    const records = sizedRows.map((row) => {
      const entry = toEntry(row.slice(0, 14) as EntryRow);
      return { ...entry, changes: restoreSealedValues(entry.changes, row[15]) };
    });
    return { records, bytes: sizedRows.reduce((sum, row) => sum + row[16], 0), isCut: sizedRows.at(-1)?.[17] === true };
  };
}

/** The entry without the hashes that chain it to others. */
export function toPublicEntry({ previousHash: _, hash: __, ...entry }: Entry): Omit<Entry, 'previousHash' | 'hash'> {
  return entry;
}
