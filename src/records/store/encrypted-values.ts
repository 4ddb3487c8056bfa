import { isDeepStrictEqual } from 'node:util';
import type { StoredRecord } from '../../declare/host.ts';
import type { EncryptedColumn } from '../../platform/data/crypto/encrypted-column.ts';
import { DecryptionError, type Keyring } from '../../platform/data/crypto/keyring.ts';
import type { Logger } from '../../platform/observability/log.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';

/**
 * Whether a value of an encrypted field is the one that a record holds.
 *
 * @param value the value in an update; null clears the field
 * @param stored undefined if the record has no value
 */
function isSameEncryptedValue(value: unknown, stored: unknown): boolean {
  const held = value === null || value === undefined ? undefined : JSON.parse(JSON.stringify(value));
  return isDeepStrictEqual(held, stored);
}

/** Leaves out the encrypted values that the record already has: the ciphertexts of equal values differ, so each would look like a change. */
export function leaveOutSameEncryptedValues(
  { fields }: CompiledResource,
  changes: Record<string, unknown>,
  before: StoredRecord,
): Record<string, unknown> {
  const same = fields.filter(
    (field) =>
      field.spec.encrypted &&
      Object.hasOwn(changes, field.name) &&
      isSameEncryptedValue(changes[field.name], before[field.name]),
  );
  if (same.length === 0) return changes;
  const rest = { ...changes };
  for (const { name } of same) delete rest[name];
  return rest;
}

/** The context that an encrypted value is bound to, so that a ciphertext copied elsewhere does not decrypt there. */
function encryptionContext(resource: string, field: string, id: string): string {
  return `${resource}/${field}/${id}`;
}

/** Decrypts the stored value of a field of the record with an id. */
export type Decrypt = (field: CompiledField, value: unknown, id: string) => unknown;

/** Creates the encryption of the values of a resource's encrypted fields. */
export function createValueEncryption({ name: resource }: CompiledResource, keyring: Keyring, log: Logger) {
  /** @throws DecryptionError */
  const decrypt: Decrypt = (field, value, id) =>
    JSON.parse(keyring.decrypt(value as string, encryptionContext(resource, field.name, id)));

  function logUndecryptable(error: DecryptionError, id: string, consequence: string): void {
    log.error({ err: error, resource, record: id }, `a value cannot be decrypted; ${consequence}`);
  }

  // Throws if the key is missing, which defers the event: the key may be added later. A tampered value never becomes readable, so it is
  // left out.
  const decryptFromEvent: Decrypt = (field, value, id) => {
    try {
      return decrypt(field, value, id);
    } catch (error) {
      if (!(error instanceof DecryptionError) || error.reason === 'unknown-key') throw error;
      logUndecryptable(error, id, 'it is left out of the event');
      return undefined;
    }
  };

  return {
    encrypt: (field: CompiledField, value: unknown, id: string) =>
      keyring.encrypt(JSON.stringify(value), encryptionContext(resource, field.name, id)),
    decrypt,
    decryptFromEvent,

    /** Creates the decryption for one committed change: a value that cannot be decrypted is left out, and logged once for each field. */
    createChangeDecryption(): Decrypt {
      const logged = new Set<CompiledField>();
      return (field, value, id) => {
        try {
          return decrypt(field, value, id);
        } catch (error) {
          if (!(error instanceof DecryptionError)) throw error;
          if (!logged.has(field)) logUndecryptable(error, id, 'the change to its record was committed');
          logged.add(field);
          return undefined;
        }
      };
    },

    /** Whether a stored value, null if there is none, is the encrypted form of a value; false if it cannot be decrypted. */
    holds(field: CompiledField, stored: unknown, id: string, value: unknown): boolean {
      try {
        return isSameEncryptedValue(value, stored === null ? undefined : decrypt(field, stored, id));
      } catch (error) {
        if (error instanceof DecryptionError) return false;
        throw error;
      }
    },
  };
}

/** The columns of encrypted fields. */
export function findEncryptedColumns(resources: readonly CompiledResource[]): EncryptedColumn[] {
  return resources.flatMap(({ name: resource, table, fields, archived }) =>
    fields
      .filter(({ spec }) => spec.encrypted)
      .map(({ name, column }) => ({
        name: archived ? `${resource}.${name} (deleted)` : `${resource}.${name}`,
        table,
        column,
        context: (id) => encryptionContext(resource, name, id),
        resource,
      })),
  );
}
