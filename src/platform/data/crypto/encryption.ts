import type { Database } from '../postgres/database.ts';
import type { EncryptedColumn } from './encrypted-column.ts';
import { readKeyRecords } from './key-records.ts';
import type { ProcessRegistration } from './processes.ts';
import { type KeyRegistrationParts, registerKeys } from './register-keys.ts';
import type { EncryptedPlace, KeyCount } from './rotation/encrypted-place.ts';
import { createOutboxPlace } from './rotation/outbox-place.ts';
import { type Rotation, type RotationOptions, rotateToNewestKey } from './rotation/rotate.ts';
import { surveyEncryption } from './rotation/survey.ts';
import { createTablePlace } from './rotation/table-place.ts';

/** A key of the key ring, or a key that the database has a record of. */
export interface KeyStatus {
  keyId: string;
  /** The position of the key in the ring, from 0: the first key encrypts. Undefined: the ring does not contain the key. */
  place: number | undefined;
  /** When a process first encrypted with the key, ISO 8601; undefined: no process ever did. */
  firstUsedAt: string | undefined;
  retiredAt: string | undefined;
  /** The number of running processes that encrypt with the key. */
  processes: number;
}

/** The known encryption keys, and the number of stored values under each. */
export interface EncryptionStatus {
  keys: KeyStatus[];
  /** The number of values by encrypted column and key; columns without values are left out. */
  values: KeyCount[];
}

/** The operations on the encryption keys of an app and on the values encrypted with them. */
export interface Encryption {
  /** Compares the keys with the database at a start. @throws StartupError, see `registerKeys` */
  registerKeys(): Promise<ProcessRegistration>;
  status(): Promise<EncryptionStatus>;
  rotate(options?: RotationOptions): Promise<Rotation>;
}

/** Creates the places that contain ciphertexts: each table with encrypted columns, and the outbox, whose events contain records. */
function createEncryptedPlaces(database: Database, columns: readonly EncryptedColumn[]): EncryptedPlace[] {
  const byTable = Map.groupBy(columns, ({ table, key = 'id' }) => `${table}\n${key}`);
  return [
    ...[...byTable.values()].map((sameTable) => createTablePlace(database, sameTable)),
    createOutboxPlace(database, columns),
  ];
}

/**
 * Creates the operations on encryption at rest.
 *
 * @param columns every column that contains ciphertexts, of all features
 * @param ready awaited before `status` and `rotate`; rejects if the database is down or lacks tables
 */
export function createEncryption(
  parts: KeyRegistrationParts,
  columns: readonly EncryptedColumn[],
  ready: () => Promise<void>,
): Encryption {
  const { database, keyring } = parts;
  const places = createEncryptedPlaces(database, columns);
  return {
    registerKeys: () => registerKeys(parts, places),
    async status() {
      await ready();
      const { counts, processes } = await surveyEncryption(database, places, keyring.keyIds[0]!);
      const records = new Map((await readKeyRecords(database)).map((record) => [record.keyId, record]));
      const values = [...counts.values()].flat();
      const found = values.flatMap(({ keyId }) => keyId ?? []);
      const ids = new Set([...keyring.keyIds, ...records.keys(), ...found]);
      const keys = Array.from(ids, (keyId): KeyStatus => {
        const place = keyring.keyIds.indexOf(keyId);
        const running = processes.filter(({ firstKey }) => firstKey === keyId);
        return {
          keyId,
          place: place === -1 ? undefined : place,
          firstUsedAt: records.get(keyId)?.firstUsedAt,
          retiredAt: records.get(keyId)?.retiredAt ?? undefined,
          processes: running.reduce((sum, { count }) => sum + count, 0),
        };
      });
      return { keys, values };
    },
    async rotate(options = {}) {
      await ready();
      return rotateToNewestKey({ database, keyring, places }, options);
    },
  };
}
