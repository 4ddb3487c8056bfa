import type { StoredRecord } from '../../../declare/host.ts';
import type { OperationContext } from '../../access/operation-context.ts';
import type { CompiledField } from '../../schema/compiled.ts';
import type { BatchChange, RecordTimes } from '../../store/store.ts';
import type { PasswordHashes } from '../../writes/write-steps.ts';

/** The operations of a batch. */
export const BATCH_OPERATIONS = ['create', 'update', 'upsert', 'delete'] as const;

/** An operation of a batch. */
export type BatchOperation = (typeof BATCH_OPERATIONS)[number];

/** One item of a batch. */
export interface BatchItem {
  /** The index of the item in the batch. */
  place: number;
  op: BatchOperation;
  /** The record of an update or deletion, or the id that a create must use; undefined for an upsert, and for a new id. */
  id: string | undefined;
  /** The times that a created record must get; left out: now. */
  times?: RecordTimes | undefined;
  /** The values of a create, update or upsert, not validated yet. */
  data: unknown;
  /** For an upsert: the unique field that identifies the record, and its value as records hold it; undefined if the value is invalid. */
  by: { field: CompiledField; value: unknown } | undefined;
  /** The hashes of passwords in `data` that are computed before the transaction; left out: none. */
  hashes?: PasswordHashes;
  /** The context of this operation: the batch's, with the versions that the record must have. */
  operation: OperationContext;
}

/** The result of an item: the changed record, or the error. */
export type Outcome =
  | { action: 'created' | 'deleted'; record: StoredRecord }
  | { action: 'updated'; record: StoredRecord; previous: StoredRecord }
  | { error: unknown };

/** A valid change that has been authorized, and only needs to be written. */
export interface PreparedChange {
  item: BatchItem;
  change: BatchChange;
  /** The locked record before the change; undefined for a create. */
  before: StoredRecord | undefined;
}

/**
 * The preparation of an item: its change, its error, or `alone` for an item that must run by itself, because its record changed between two
 * statements.
 */
export type Preparation = PreparedChange | { error: unknown } | 'alone';

/** The bytes of stored records that a batch may still load. A batch may change many large records with a small body. */
export interface Room {
  bytes: number;
}
