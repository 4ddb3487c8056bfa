import type { Database } from '../postgres/database.ts';
import { countByKey } from './count-by-key.ts';
import type { EncryptedPlace, KeyCount } from './encrypted-place.ts';
import { type RunningProcesses, runningProcesses } from './processes.ts';

/** What stands under which key, and who runs. */
export interface Survey {
  /** When it began, by the clock of the database. */
  from: string;
  counts: ReadonlyMap<EncryptedPlace, readonly KeyCount[]>;
  /** `hasKey`: whether they have the newest key. */
  processes: readonly RunningProcesses[];
}

/** Counts everything. Who ran when it began is asked first: what they wrote since may not have been counted. */
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

/** How many of the counted values are not under a key. */
export function staleCount(counts: readonly KeyCount[], newest: string): number {
  return counts.reduce((sum, { keyId, count }) => (keyId === newest ? sum : sum + count), 0);
}
