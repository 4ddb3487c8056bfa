import type { Database } from '../../postgres/database.ts';
import { type RunningProcesses, readRunningProcesses } from '../processes.ts';
import type { EncryptedPlace, KeyCount } from './encrypted-place.ts';

/** Counts the values of a place by column and key. Reads the prefix of every ciphertext, in pages. */
export async function countValuesByKey(place: EncryptedPlace): Promise<KeyCount[]> {
  const totals = new Map<string, KeyCount>();
  let range = await place.findRowRange();
  while (range !== undefined) {
    const page = await place.count(range);
    for (const keyCount of page.counts) {
      const key = `${keyCount.name}\n${keyCount.keyId}`;
      const total = totals.get(key);
      if (total === undefined) totals.set(key, keyCount);
      else total.count += keyCount.count;
    }
    range = page.at === undefined ? undefined : { ...range, after: page.at };
  }
  return [...totals.values()];
}

/** Merges two counts of the same place: each number is the larger one. */
function mergeCounts(first: readonly KeyCount[], second: readonly KeyCount[]): KeyCount[] {
  const byKey = Map.groupBy([...first, ...second], ({ name, keyId }) => `${name}\n${keyId}`);
  return Array.from(byKey.values(), (both) => ({ ...both[0]!, count: Math.max(...both.map(({ count }) => count)) }));
}

/** The number of values under each key, and the running processes. */
export interface EncryptionSurvey {
  /** When the survey began, by the clock of the database, ISO 8601. */
  from: string;
  counts: ReadonlyMap<EncryptedPlace, readonly KeyCount[]>;
  /** `hasKey`: whether the processes have the newest key. */
  processes: readonly RunningProcesses[];
}

/** Counts all encrypted values. It first reads the running processes, because values that they write from then on may not be counted. */
export async function surveyEncryption(
  database: Database,
  places: readonly EncryptedPlace[],
  newest: string,
): Promise<EncryptionSurvey> {
  const [now] = await database.write<[string]>({ text: 'select now()', values: [] });
  const processes = await readRunningProcesses(database, newest);
  const counts = new Map<EncryptedPlace, KeyCount[]>();
  for (const place of places) counts.set(place, await countValuesByKey(place));
  // A row that moved from a place before it was counted there to one that had been counted would be in neither count.
  for (const place of places.filter(({ receivesRows }) => receivesRows))
    counts.set(place, mergeCounts(counts.get(place)!, await countValuesByKey(place)));
  return { from: now![0], counts, processes };
}

/** Returns the number of counted values that are not encrypted with the newest key. */
export function countStaleValues(counts: readonly KeyCount[], newest: string): number {
  return counts.reduce((sum, { keyId, count }) => (keyId === newest ? sum : sum + count), 0);
}
