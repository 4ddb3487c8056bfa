import { COPY } from '../../declare/actor.ts';
import type { StoredRecord } from '../../declare/host.ts';
import { snakeCase } from '../../declare/naming.ts';
import type { Keyring } from '../../platform/data/crypto/keyring.ts';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { toIsoTimestamp } from '../../platform/data/postgres/values.ts';
import type { Logger } from '../../platform/observability/log.ts';
import { fieldTypeOf } from '../fields/field-type.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
import { createValueEncryption, type Decrypt } from './encrypted-values.ts';

const RESOURCE = Symbol('resource');
const WRITER = Symbol('writer');
const DELETED_UNDER = Symbol('deleted under');

/**
 * The resource that a stored record belongs to. Undefined for any other value, also for an object that inherits from a record and for a
 * proxy of one.
 */
export function resourceNameOf(value: unknown): string | undefined {
  return (value as { [RESOURCE]?: string } | null)?.[RESOURCE];
}

/**
 * The id of the transaction that wrote this state of a record, for a resource without timestamps; undefined if the record was not read from
 * its row. Two changes of a record share an id only after 4 billion transactions.
 */
export function transactionIdOf(record: StoredRecord): string | undefined {
  return (record as { [WRITER]?: string })[WRITER];
}

/** The privileges under which a record in the archive was deleted; undefined if they are unknown. */
export function storedDeletionPrivilegesOf(record: StoredRecord): readonly string[] | undefined {
  return (record as { [DELETED_UNDER]?: readonly string[] })[DELETED_UNDER];
}

/** Converts records of a resource between Postgres and memory. */
export interface Codec {
  /** The select list: id, fields, then the timestamps or, without timestamps, `xmin`; passwords are left out. */
  columns: string;
  /** Converts a row that was selected with `columns` to a record. Fields without a value are left out. */
  fromRow(row: readonly unknown[]): StoredRecord;
  /**
   * Converts the rows of a record before and after a committed change to records. A value that cannot be decrypted must not make the change
   * look failed: it is left out and logged once.
   */
  fromChange(...rows: readonly (readonly unknown[])[]): StoredRecord[];
  /**
   * Converts `to_jsonb` of a row in an event to a record. Tampered values are left out and logged.
   *
   * @throws DecryptionError if the key of a value is missing
   */
  fromJson(json: Record<string, unknown>): StoredRecord;
  /**
   * Converts `to_jsonb` of a current row to a record, like `fromRow`.
   *
   * @throws DecryptionError if a value cannot be decrypted
   */
  fromRowJson(json: Record<string, unknown>): StoredRecord;
  /** Whether a row that was selected with `columns` holds this value of an encrypted field; false if the stored value cannot be decrypted. */
  holdsEncrypted(row: readonly unknown[], field: CompiledField, value: unknown): boolean;
  /** Converts a validated value to the parameter of its column. */
  toColumn(field: CompiledField, value: unknown, id: string): unknown;
}

/**
 * The class of a resource's records. A record's own keys are the fields that every reader may see. The other fields can be read and written
 * by name, but no spread, clone, log line or JSON includes them: `{ ...record }` in a response cannot leak them.
 */
function createRecordClass(resource: CompiledResource): new () => object {
  class RecordOfResource {
    // Created with the first value: most records have none.
    #concealed: Record<string, unknown> | undefined = undefined;
    #writer: string | undefined;
    #deletedUnder: readonly string[] | undefined;
    // An object that inherits from a record (`Object.create`) has this property too, but not the values of the record.
    get [RESOURCE]() {
      return #concealed in this ? resource.name : undefined;
    }
    get [WRITER]() {
      return this.#writer;
    }
    set [WRITER](id: string | undefined) {
      this.#writer = id;
    }
    get [DELETED_UNDER]() {
      return this.#deletedUnder;
    }
    set [DELETED_UNDER](privileges: readonly string[] | undefined) {
      this.#deletedUnder = privileges;
    }
    [COPY](): object {
      const copy = Object.assign(new RecordOfResource(), this);
      copy.#concealed = this.#concealed && { ...this.#concealed };
      copy.#writer = this.#writer;
      copy.#deletedUnder = this.#deletedUnder;
      return copy;
    }
    static {
      const checkIsRecord = (record: RecordOfResource, name: string) => {
        if (#concealed in record) return;
        throw new TypeError(
          `The field "${name}" belongs to the stored ${resource.name} itself, but this object inherits from it or is a proxy of it. Use the record, or copy the fields that you need`,
        );
      };
      for (const { name } of resource.fields.filter(isLeftOutOfCopies)) {
        Object.defineProperty(RecordOfResource.prototype, name, {
          get(this: RecordOfResource) {
            checkIsRecord(this, name);
            return this.#concealed?.[name];
          },
          set(this: RecordOfResource, value: unknown) {
            checkIsRecord(this, name);
            this.#concealed ??= {};
            this.#concealed[name] = value;
          },
        });
      }
    }
  }
  return RecordOfResource;
}

/** A column that had other names before. */
interface RenamedColumn {
  column: string;
  /** The former names that no column has now. */
  former: readonly string[];
}

/** Finds the columns of renamed fields. */
function findRenamedColumns(fields: readonly CompiledField[]): RenamedColumn[] {
  const current = new Set(fields.map(({ column }) => column));
  return fields.flatMap(({ column, spec }) => {
    const former = (spec.renamedFrom ?? []).map(snakeCase).filter((name) => !current.has(name));
    return former.length === 0 ? [] : [{ column, former }];
  });
}

/** Returns the columns of a stored row under their current names: the row may have been stored before a rename. */
function withCurrentColumns(json: Record<string, unknown>, renamed: readonly RenamedColumn[]): Record<string, unknown> {
  if (renamed.length === 0) return json;
  const moved = renamed.flatMap(({ column, former }) => {
    const name = Object.hasOwn(json, column) ? undefined : former.find((one) => Object.hasOwn(json, one));
    return name === undefined ? [] : [[column, json[name]]];
  });
  return moved.length === 0 ? json : { ...json, ...Object.fromEntries(moved) };
}

function isLeftOutOfCopies({ secret, visibleTo }: CompiledField): boolean {
  return secret || visibleTo !== undefined;
}

/** Copies every field of a record to a plain object, including the fields that a spread leaves out. */
export function allFieldValuesOf(resource: CompiledResource, record: StoredRecord): Record<string, unknown> {
  const all: Record<string, unknown> = { ...record };
  for (const { name } of resource.fields.filter(isLeftOutOfCopies)) {
    if (record[name] !== undefined) all[name] = record[name];
  }
  return all;
}

/** Creates the codec of a resource. */
export function createCodec(resource: CompiledResource, keyring: Keyring, log: Logger): Codec {
  const RecordOfResource = createRecordClass(resource);
  const readable = resource.fields.filter((field) => !field.type.concealed);
  const times = resource.timestamps ? (['createdAt', 'updatedAt'] as const) : [];
  // The conversion of each readable field's values, compiled once; undefined for the many types that need none.
  const conversions = readable.map(({ type, spec }): ((value: unknown) => unknown) | undefined => {
    const { fromColumn } = type;
    const isSame = fieldTypeOf(spec.inner?.spec ?? spec).fromColumn === undefined;
    return fromColumn === undefined || isSame || spec.encrypted ? undefined : (value) => fromColumn(value, spec);
  });
  const renamed = findRenamedColumns(readable);
  const encryption = createValueEncryption(resource, keyring, log);
  const columns = [
    'id',
    ...readable.map((field) => field.column),
    ...(resource.timestamps ? ['created_at', 'updated_at'] : ['xmin']),
    ...(resource.archived ? ['deleted_at', 'deleted_under'] : []),
  ];

  function fromRow(row: readonly unknown[], decrypt: Decrypt): StoredRecord {
    const record = new RecordOfResource() as StoredRecord;
    record.id = row[0] as string;
    let at = 1;
    for (const field of readable) {
      const convert = conversions[at - 1];
      const value = row[at++];
      if (value === null) continue;
      const converted = field.spec.encrypted ? decrypt(field, value, record.id) : convert ? convert(value) : value;
      if (converted !== undefined) record[field.name] = converted;
    }
    for (const name of times) record[name] = row[at++];
    if (!resource.timestamps) (record as { [WRITER]?: string })[WRITER] = row[at++] as string;
    const deletedAt = resource.archived ? row[at] : null;
    if (deletedAt !== null) record.deletedAt = deletedAt;
    if (resource.archived) (record as { [DELETED_UNDER]?: unknown })[DELETED_UNDER] = row[at + 1] ?? undefined;
    return record;
  }

  function fromJson(stored: Record<string, unknown>, decrypt: Decrypt): StoredRecord {
    const json = withCurrentColumns(stored, renamed);
    const record = new RecordOfResource() as StoredRecord;
    record.id = json.id as string;
    for (const field of readable) {
      const value = json[field.column];
      if (value === null || value === undefined) continue;
      if (field.spec.encrypted) record[field.name] = decrypt(field, value, record.id);
      else record[field.name] = field.type.fromJson === undefined ? value : field.type.fromJson(value, field.spec);
    }
    if (resource.timestamps) {
      record.createdAt = toIsoTimestamp(json.created_at as string);
      record.updatedAt = toIsoTimestamp(json.updated_at as string);
    }
    return record;
  }

  return {
    columns: columns.map(quoteIdentifier).join(', '),
    fromRow: (row) => fromRow(row, encryption.decrypt),
    fromChange(...rows) {
      const decrypt = encryption.createChangeDecryption();
      return rows.map((row) => fromRow(row, decrypt));
    },
    fromJson: (json) => fromJson(json, encryption.decryptFromEvent),
    fromRowJson: (json) => fromJson(json, encryption.decrypt),
    holdsEncrypted: (row, field, value) =>
      encryption.holds(field, row[readable.indexOf(field) + 1], row[0] as string, value),
    toColumn(field, value, id) {
      if (value === null || value === undefined) return null;
      if (field.spec.encrypted) return encryption.encrypt(field, value, id);
      return field.type.toColumn === undefined ? value : field.type.toColumn(value, field.spec);
    },
  };
}
