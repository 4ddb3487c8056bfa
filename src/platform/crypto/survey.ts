import type { Database } from '../postgres/database.ts';
import { countByKey } from './count-by-key.ts';
import type { EncryptedPlace, KeyCount } from './encrypted-place.ts';
import { type RunningProcesses, runningProcesses } from './processes.ts';

/** The number of values under each key, and the running processes. */
export interface Survey {
  /** When the survey began, by the clock of the database. */
  from: string;
  counts: ReadonlyMap<EncryptedPlace, readonly KeyCount[]>;
  /** `hasKey`: whether the processes have the newest key. */
  processes: readonly RunningProcesses[];
}

/** Counts all encrypted values. It first reads the running processes, because values that they write from then on may not be counted. */
export async function takeSurvey(
  database: Database,
  places: readonly EncryptedPlace[],
  newest: string,
): Promise<Survey> {
  const [now] = await database.write<[string]>({ text: 'select now()', values: [] });
  const processes = await runningProcesses(database, newest);
  const counts = new Map<EncryptedPlace, KeyCount[]>();
  for (const place of places) counts.set(place, await countByKey(place));
  return { from: now![0], counts, processes };
}

/** The number of counted values that are not under the newest key. */
export function staleCount(counts: readonly KeyCount[], newest: string): number {
  return counts.reduce((sum, { keyId, count }) => (keyId === newest ? sum : sum + count), 0);
}
