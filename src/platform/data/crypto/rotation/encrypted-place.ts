import type { EncryptedColumn } from '../encrypted-column.ts';

/** The number of values of a column that are encrypted with a key. */
export interface KeyCount {
  name: string;
  /** Null: the values are not ciphertexts. */
  keyId: string | null;
  count: number;
}

/** A ciphertext and its location. */
export interface StoredValue {
  /** The row id, in the order in which the place is traversed. */
  row: string;
  /** Identifies the value within the row; `replaceValues` uses the slot to find the value. */
  slot: string;
  column: EncryptedColumn;
  /** The id of the record that the value belongs to: the argument of `column.context`. */
  id: string;
  text: string;
}

/** A stored value and the ciphertext that replaces it. */
export interface Replacement extends StoredValue {
  /** The new ciphertext; null: the value is given up, only if the place allows that (`canDiscard`). */
  next: string | null;
}

/** Rows that remain to be traversed: those after `after`, up to and including `last`. */
interface RowRange {
  after: string;
  last: string;
}

/**
 * A place that contains ciphertexts, traversed in the order of a primary key. Every call is one short statement, whatever
 * the size of the table.
 */
export interface EncryptedPlace {
  table: string;
  /** Whether rows may move here from a place that is surveyed later. */
  receivesRows: boolean;
  /** Whether values of a lost key in this place can be given up: replaced by null. */
  canDiscard: boolean;
  /** Returns the range of the rows that exist now, so that the traversal of a growing table ends; undefined if there are none. */
  findRowRange(): Promise<RowRange | undefined>;
  /** Counts the values of the first rows of a range. `at` is the last of these rows; undefined if the range has no rows. */
  count(range: RowRange): Promise<{ counts: KeyCount[]; at: string | undefined }>;
  /** Returns a batch of values that are not under `keyId`, in row order and only for whole rows; empty if the first rows have none. */
  findStaleValues(range: RowRange, keyId: string): Promise<StoredValue[]>;
  /** Returns the last row that `findStaleValues` read without finding a value; undefined if it read all rows of the range. */
  findLastScannedRow(range: RowRange): Promise<string | undefined>;
  /**
   * Replaces ciphertexts in one statement. A row that changed since it was read, or that is locked, stays unchanged. Returns the number of
   * values replaced.
   */
  replaceValues(replacements: readonly Replacement[]): Promise<number>;
}
