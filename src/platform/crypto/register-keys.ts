import { type Environment, StartupError } from '../config/environment.ts';
import type { Logger } from '../observability/log.ts';
import type { Database } from '../postgres/database.ts';
import {
  isSameKey,
  type KeyRecord,
  lockKeyRecords,
  readKeyRecords,
  recordFoundKeys,
  recordNewestKey,
} from './key-records.ts';
import type { Keyring } from './keyring.ts';
import { enter, type Presence } from './processes.ts';
import type { EncryptedPlace } from './rotation/encrypted-place.ts';
import { countByKey } from './rotation/survey.ts';

interface KeyUse {
  database: Database;
  keyring: Keyring;
  log: Logger;
  env: Pick<Environment, 'nodeEnv'>;
}

/** The errors in the keys of this process, one line each; they contain only ids. */
function faultsOf(keyring: Keyring, records: readonly KeyRecord[], found: readonly string[]): string[] {
  const has = `which has ${keyring.keyIds.join(', ')}`;
  const inUse = records.filter(({ retiredAt }) => retiredAt === null);
  return [
    ...inUse
      .filter(({ keyId }) => !keyring.keyIds.includes(keyId))
      .map(
        ({ keyId, firstUsedAt }) =>
          `key ${keyId}, in use since ${firstUsedAt.slice(0, 10)}, is not in SVC_ENCRYPTION_KEYS, ${has}: add it after the first one`,
      ),
    ...inUse
      .filter((record) => keyring.keyIds.includes(record.keyId) && !isSameKey(keyring, record))
      .map(
        ({ keyId }) =>
          `key ${keyId} of SVC_ENCRYPTION_KEYS is another key than the one of this id that encrypted the data`,
      ),
    ...found
      .filter((keyId) => !keyring.keyIds.includes(keyId))
      .map(
        (keyId) =>
          `values are encrypted with key ${keyId}, which is not in SVC_ENCRYPTION_KEYS, ${has}: add it after the first one`,
      ),
  ];
}

function fail(faults: readonly string[], { nodeEnv }: Pick<Environment, 'nodeEnv'>): void {
  if (faults.length === 0) return;
  const fresh =
    nodeEnv === 'development'
      ? [
          'npm run dev keeps a key of its own in .data/encryption-key; npm run dev -- --fresh begins with an empty database',
        ]
      : [];
  throw new StartupError(
    'The encryption keys are not those that the database was written with (see docs/encryption.md):',
    [...faults, ...fresh],
  );
}

/**
 * Compares the keys of this process with those that the database was written with, and records that its newest key is in use.
 * Only one process does so at a time: if two processes start on an empty database with different keys, one fails. Runs a few short
 * statements; ciphertexts are searched only in a database without key records.
 *
 * @param places the places that contain ciphertexts
 * @throws StartupError naming each key that is missing or differs
 */
export async function registerKeys(use: KeyUse, places: readonly EncryptedPlace[]): Promise<Presence> {
  const { database, keyring, log, env } = use;
  const before = await readKeyRecords(database);
  const counts = before.length === 0 ? (await Promise.all(places.map(countByKey))).flat() : [];
  const found = [...new Set(counts.flatMap(({ keyId }) => keyId ?? []))];
  const presence = await database.transaction(async (tx) => {
    await lockKeyRecords(tx);
    fail(faultsOf(keyring, await readKeyRecords(tx), found), env);
    await recordFoundKeys(tx, keyring, found);
    await recordNewestKey(tx, keyring);
    return enter(tx, database, keyring, log);
  });
  presence.keepUp();
  return presence;
}
