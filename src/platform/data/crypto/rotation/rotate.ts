import { setTimeout as sleep } from 'node:timers/promises';
import { StartupError } from '../../../helpers/config-errors.ts';
import type { Database } from '../../postgres/database.ts';
import { lockKeyRecords, readKeyRecords, recordFoundKeys, recordNewestKey, retireKeys } from '../key-records.ts';
import type { Keyring } from '../keyring.ts';
import type { EncryptedPlace, StoredValue } from './encrypted-place.ts';
import { type RotationCallbacks, reEncryptPlace } from './re-encrypt.ts';
import { countStaleValues, type EncryptionSurvey, surveyEncryption } from './survey.ts';

export interface RotationOptions {
  /** Stops the rotation: the current batch is finished, and no further batch begins. */
  signal?: AbortSignal;
  /** The id of a key that is permanently lost: its values in waiting events are set to null. It must not be in the ring. */
  giveUp?: string;
  onProgress?: (progress: RotationProgress) => void;
}

/** The progress of a rotation in one table. */
export interface RotationProgress {
  table: string;
  /** Number of values re-encrypted with the newest key so far. */
  done: number;
  /** Number of values under other keys when the rotation began. */
  total: number;
}

/** Values of a column that no key of the ring decrypts. */
interface Undecryptable {
  name: string;
  count: number;
  /** The ids of the first hundred rows. */
  ids: string[];
}

/** The result of a rotation. */
export interface Rotation {
  /** The id of the newest key, which should encrypt all values. */
  keyId: string;
  /** Number of values that this rotation re-encrypted with the newest key. */
  rotated: number;
  /** Number of values in waiting events that were set to null. */
  givenUp: number;
  undecryptable: Undecryptable[];
  /**
   * Number of decryptable values still under older keys at the last count, because their rows kept changing. A stopped rotation counts
   * only at its start.
   */
  left: number;
  /** Whether the rotation was stopped. */
  stopped: boolean;
  /** Older keys that running processes still encrypt with, and the number of these processes. */
  busy: { keyId: string; processes: number }[];
  /** Older keys of the ring that no value uses and no process encrypts with: they may be removed from the ring. */
  removable: string[];
}

const MAX_REPORTED_IDS = 100;
const MAX_IDLE_PASSES = 20;
const IDLE_MS = 250;

/** Refuses to rotate if running processes lack the newest key. @throws StartupError with their number and what to do first */
function assertProcessesHaveKey({ processes }: EncryptionSurvey, newest: string): void {
  const without = processes.filter(({ hasKey }) => !hasKey).reduce((sum, { count }) => sum + count, 0);
  if (without === 0) return;
  throw new StartupError(`Key ${newest} is not available in every running process yet:`, [
    `${without} ${without === 1 ? 'process does' : 'processes do'} not have it and could not decrypt values encrypted with it`,
    'add it to their SVC_ENCRYPTION_KEYS as the second key and restart them. A killed process counts for a minute',
  ]);
}

/** Goes through all places once and re-encrypts their values. Returns the values that no key of the ring decrypts. */
async function runRotationPass(
  { database, keyring, places }: RotationParts,
  options: RotationOptions,
  survey: EncryptionSurvey,
  progress: Pick<RotationCallbacks, 'replaced' | 'gaveUp'>,
): Promise<Undecryptable[]> {
  const failures = new Map<string, Undecryptable>();
  const counts = [...survey.counts.values()].flat();
  let recorded: Promise<void> | undefined;
  const callbacks: RotationCallbacks = {
    // Once a value is encrypted with the newest key, no process may start without that key.
    beforeWriting: () =>
      (recorded ??= database.transaction(async (tx) => {
        await lockKeyRecords(tx);
        await recordFoundKeys(tx, keyring, [...new Set(counts.flatMap(({ keyId }) => keyId ?? []))]);
        await recordNewestKey(tx, keyring);
      })),
    ...progress,
    undecryptable({ column, id }: StoredValue) {
      const failure = failures.get(column.name) ?? { name: column.name, count: 0, ids: [] };
      failures.set(column.name, failure);
      failure.count += 1;
      // Report each record once: the outbox contains a record once for each of its changes.
      if (failure.ids.length < MAX_REPORTED_IDS && !failure.ids.includes(id)) failure.ids.push(id);
    },
    isStopped: () => options.signal?.aborted ?? false,
  };
  for (const place of places) await reEncryptPlace(place, keyring, callbacks, options.giveUp);
  return [...failures.values()];
}

/** The dependencies of a rotation. */
interface RotationParts {
  database: Database;
  keyring: Keyring;
  places: readonly EncryptedPlace[];
}

/**
 * Re-encrypts every value with the newest key. It can run while the app runs, and several times concurrently; if it is interrupted, the
 * next rotation continues. Finally it retires the keys that no value uses and no process encrypts with.
 *
 * @throws StartupError if a running process could not read the result, or if the key to give up is not lost; nothing is changed then
 */
export async function rotateToNewestKey(parts: RotationParts, options: RotationOptions): Promise<Rotation> {
  const { database, keyring, places } = parts;
  const keyId = keyring.keyIds[0]!;
  const done = new Map<EncryptedPlace, number>();
  const isStopped = () => options.signal?.aborted ?? false;
  if (options.giveUp !== undefined && keyring.keyIds.includes(options.giveUp))
    throw new StartupError(`Key ${options.giveUp} cannot be given up:`, [
      'it is in SVC_ENCRYPTION_KEYS, so its values can be decrypted',
    ]);
  let survey = await surveyEncryption(database, places, keyId);
  const totals = new Map([...survey.counts].map(([place, counts]) => [place, countStaleValues(counts, keyId)]));
  let undecryptable: Undecryptable[] = [];
  let rotated = 0;
  let givenUp = 0;

  const countReplaced = (place: EncryptedPlace, values: number) => {
    const sum = (done.get(place) ?? 0) + values;
    done.set(place, sum);
    rotated += values;
    options.onProgress?.({ table: place.table, done: sum, total: Math.max(totals.get(place)!, sum) });
  };
  const countGivenUp = (values: number) => {
    givenUp += values;
  };
  const countRemaining = () => {
    const failed = undecryptable.reduce((sum, { count }) => sum + count, 0);
    return Math.max(0, countStaleValues([...survey.counts.values()].flat(), keyId) - failed);
  };

  for (let idle = 0; countRemaining() > 0 && idle < MAX_IDLE_PASSES && !isStopped(); ) {
    assertProcessesHaveKey(survey, keyId);
    const before = rotated + givenUp;
    undecryptable = await runRotationPass(parts, options, survey, { replaced: countReplaced, gaveUp: countGivenUp });
    if (isStopped()) break;
    survey = await surveyEncryption(database, places, keyId);
    // The remaining rows are locked by a long transaction or by another rotation.
    idle = rotated + givenUp > before || countRemaining() === 0 ? 0 : idle + 1;
    if (idle > 0) await sleep(IDLE_MS);
  }
  const outcome = { keyId, rotated, givenUp, undecryptable, left: countRemaining() };
  if (isStopped()) return { ...outcome, stopped: true, busy: [], removable: [] };
  return { ...outcome, stopped: false, ...(await retireUnusedKeys(parts, survey)) };
}

/** Retires keys that no value uses, unless a process may have encrypted with them since the survey began. */
async function retireUnusedKeys(
  { database, keyring }: RotationParts,
  survey: EncryptionSurvey,
): Promise<Pick<Rotation, 'busy' | 'removable'>> {
  const newest = keyring.keyIds[0]!;
  const busy = new Map<string, number>();
  for (const { firstKey, count } of survey.processes) {
    if (firstKey !== newest) busy.set(firstKey, (busy.get(firstKey) ?? 0) + count);
  }
  const keyIdsOfValues = [...survey.counts.values()].flat().flatMap(({ keyId }) => keyId ?? []);
  const usedKeyIds = [newest, ...busy.keys(), ...keyIdsOfValues];
  const records = await database.transaction(async (tx) => {
    await lockKeyRecords(tx);
    await retireKeys(tx, usedKeyIds, survey.from);
    return readKeyRecords(tx);
  });
  const retired = records.filter(({ retiredAt }) => retiredAt !== null).map(({ keyId }) => keyId);
  return {
    busy: Array.from(busy, ([keyId, processes]) => ({ keyId, processes })),
    removable: retired.filter((keyId) => keyring.keyIds.includes(keyId)),
  };
}
