import type { StoredRecord } from '../declare/host.ts';
import type { Keyring } from '../platform/crypto/keyring.ts';
import { isoTimestamp } from '../platform/postgres/types.ts';
import type { CompiledField, CompiledResource } from './compiled.ts';
import { valueContext } from './encryption/value-context.ts';
import { quoted } from './query/sql.ts';

const RESOURCE = Symbol('resource');

/** The resource that a stored record belongs to, or undefined for any other value. */
export function resourceOf(value: unknown): string | undefined {
  return (value as { [RESOURCE]?: string } | null)?.[RESOURCE];
}

/** How records of a resource pass between Postgres and memory. */
export interface Codec {
  /** The select list: id, fields, timestamps; passwords are not in it. */
  columns: string;
  /** A row of that list as a record. Fields without a value are not in it. */
  fromRow(row: readonly unknown[]): StoredRecord;
  /** `to_jsonb` of a row as a record. */
  fromJson(json: Record<string, unknown>): StoredRecord;
  /** A validated value as the parameter of its column. */
  toColumn(field: CompiledField, value: unknown, id: string): unknown;
  /** What a column held when a record of a resource without timestamps was read from its row. */
  held(field: CompiledField, record: StoredRecord): unknown;
}

/**
 * The class of a resource's records. A record's own keys are the fields that everybody may see; the others are there to be read
 * and written by name, but no spread, clone, log line or JSON takes them along: `{ ...record }` in an answer can't leak them.
 */
function storedClass(resource: CompiledResource): new () => object {
  class Stored {
    #concealed: Record<string, unknown> = {};
    // On the prototype, so that a record is known wherever it turns up.
    get [RESOURCE]() {
      return resource.name;
    }
    static {
      for (const { name } of resource.fields.filter(isConcealed)) {
        Object.defineProperty(Stored.prototype, name, {
          get(this: Stored) {
            return this.#concealed[name];
          },
          set(this: Stored, value: unknown) {
            this.#concealed[name] = value;
          },
        });
      }
    }
  }
  return Stored;
}

function isConcealed({ secret, visibleTo }: CompiledField): boolean {
  return secret || visibleTo !== undefined;
}

/** Every field of a record as a plain object, those that a spread leaves out included. */
export function everyField(resource: CompiledResource, record: StoredRecord): Record<string, unknown> {
  const all: Record<string, unknown> = { ...record };
  for (const { name } of resource.fields.filter(isConcealed)) {
    if (record[name] !== undefined) all[name] = record[name];
  }
  return all;
}

/** Makes the codec of a resource. */
export function createCodec(resource: CompiledResource, keyring: Keyring): Codec {
  const Stored = storedClass(resource);
  const readable = resource.fields.filter((field) => !field.type.concealed);
  const times = resource.timestamps ? (['createdAt', 'updatedAt'] as const) : [];
  // Encrypting again gives another ciphertext, so only the one that was read can be looked for.
  const ciphertexts = new WeakMap<object, Record<string, unknown>>();
  const remembered = resource.timestamps ? [] : readable.filter((field) => field.spec.encrypted);
  const columns = [
    'id',
    ...readable.map((field) => field.column),
    ...(resource.timestamps ? ['created_at', 'updated_at'] : []),
  ];

  function decrypted(field: CompiledField, value: unknown, id: string): unknown {
    return JSON.parse(keyring.decrypt(value as string, valueContext(resource.name, field.name, id)));
  }

  function toColumn(field: CompiledField, value: unknown, id: string): unknown {
    if (value === null || value === undefined) return null;
    if (field.spec.encrypted)
      return keyring.encrypt(JSON.stringify(value), valueContext(resource.name, field.name, id));
    return field.type.toColumn === undefined ? value : field.type.toColumn(value, field.spec);
  }

  return {
    columns: columns.map(quoted).join(', '),
    fromRow(row) {
      const record = new Stored() as StoredRecord;
      record.id = row[0] as string;
      let at = 1;
      for (const field of readable) {
        const value = row[at++];
        if (value !== null) record[field.name] = field.spec.encrypted ? decrypted(field, value, record.id) : value;
      }
      for (const name of times) record[name] = row[at++];
      if (remembered.length > 0) {
        ciphertexts.set(
          record,
          Object.fromEntries(remembered.map((field) => [field.name, row[1 + readable.indexOf(field)]])),
        );
      }
      return record;
    },
    fromJson(json) {
      const record = new Stored() as StoredRecord;
      record.id = json.id as string;
      for (const field of readable) {
        const value = json[field.column];
        if (value === null || value === undefined) continue;
        if (field.spec.encrypted) record[field.name] = decrypted(field, value, record.id);
        else record[field.name] = field.type.fromJson === undefined ? value : field.type.fromJson(value, field.spec);
      }
      if (resource.timestamps) {
        record.createdAt = isoTimestamp(json.created_at as string);
        record.updatedAt = isoTimestamp(json.updated_at as string);
      }
      return record;
    },
    toColumn,
    held(field, record) {
      if (field.spec.encrypted) return ciphertexts.get(record)?.[field.name] ?? null;
      // Hooks and policies get the record, and may change what is in it.
      return toColumn(field, structuredClone(record[field.name]), record.id);
    },
  };
}
