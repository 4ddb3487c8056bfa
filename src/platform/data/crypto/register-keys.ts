import { StartupError } from '../../helpers/config-errors.ts';
import type { Logger } from '../../observability/log.ts';
import type { Database } from '../postgres/database.ts';
import {
  canDecryptCanary,
  type KeyRecord,
  lockKeyRecords,
  readKeyRecords,
  recordFoundKeys,
  recordNewestKey,
} from './key-records.ts';
import type { Keyring } from './keyring.ts';
import { type ProcessRegistration, registerProcess } from './processes.ts';
import type { EncryptedPlace } from './rotation/encrypted-place.ts';
import { countValuesByKey } from './rotation/survey.ts';

/** What the registration of keys stands on. */
export interface KeyRegistrationParts {
  database: Database;
  keyring: Keyring;
  log: Logger;
  env: { nodeEnv: string };
}

/** Returns the errors in the keys of this process, one line each. The lines contain the ids of keys, never keys. */
function findKeyErrors(keyring: Keyring, records: readonly KeyRecord[], found: readonly string[]): string[] {
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
      .filter((record) => keyring.keyIds.includes(record.keyId) && !canDecryptCanary(keyring, record))
      .map(
        ({ keyId }) =>
          `key ${keyId} of SVC_ENCRYPTION_KEYS has the same id as the key that encrypted the data, but is a different key`,
      ),
    ...found
      .filter((keyId) => !keyring.keyIds.includes(keyId))
      .map(
        (keyId) =>
          `values are encrypted with key ${keyId}, which is not in SVC_ENCRYPTION_KEYS, ${has}: add it after the first one`,
      ),
  ];
}

/** Returns the errors in the keys of this process, without recording anything. The database must have its tables. */
export async function checkKeys({
  database,
  keyring,
}: Pick<KeyRegistrationParts, 'database' | 'keyring'>): Promise<string[]> {
  return findKeyErrors(keyring, await readKeyRecords(database), []);
}

function throwIfKeyErrors(errors: readonly string[], { nodeEnv }: KeyRegistrationParts['env']): void {
  if (errors.length === 0) return;
  const developmentHint =
    nodeEnv === 'development'
      ? ['belfry dev stores its own key in .data/encryption-key; npx belfry dev --fresh starts with an empty database']
      : [];
  throw new StartupError(
    'The encryption keys do not match those that encrypted the database (see docs/build/encryption.md):',
    [...errors, ...developmentHint],
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
export async function registerKeys(
  parts: KeyRegistrationParts,
  places: readonly EncryptedPlace[],
): Promise<ProcessRegistration> {
  const { database, keyring, log, env } = parts;
  const before = await readKeyRecords(database);
  const counts = before.length === 0 ? (await Promise.all(places.map(countValuesByKey))).flat() : [];
  const found = [...new Set(counts.flatMap(({ keyId }) => keyId ?? []))];
  const registration = await database.transaction(async (tx) => {
    await lockKeyRecords(tx);
    throwIfKeyErrors(findKeyErrors(keyring, await readKeyRecords(tx), found), env);
    await recordFoundKeys(tx, keyring, found);
    await recordNewestKey(tx, keyring);
    return registerProcess(tx, database, keyring, log);
  });
  registration.startHeartbeat();
  return registration;
}
