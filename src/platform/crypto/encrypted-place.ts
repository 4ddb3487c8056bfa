import type { EncryptedColumn } from './encrypted-column.ts';

/** How many values of a column stand under a key. */
export interface KeyCount {
  name: string;
  /** Null: these are no ciphertexts. */
  keyId: string | null;
  count: number;
}

/** A ciphertext and where it stands. */
export interface StoredValue {
  /** The row, in the order in which the place is gone through. */
  row: string;
  /** Which of the row's values: what `replace` finds it by. */
  slot: string;
  column: EncryptedColumn;
  /** What `column.context` is made from. */
  id: string;
  text: string;
}

/** A stored value and the ciphertext that takes its place. */
export interface Replacement extends StoredValue {
  /** Null: the value is given up. Only where the place allows it. */
  next: string | null;
}

/** Rows that are still to be gone through: those that follow `after`, up to and with `last`. */
export interface Stretch {
  after: string;
  last: string;
}

/**
 * Somewhere that ciphertexts are kept, gone through in the order of a primary key. Every call is one short statement, whatever
 * the size of the table.
 */
export interface EncryptedPlace {
  table: string;
  /** Whether values of a lost key can be given up here: they become null, whatever they were. */
  canGiveUp: boolean;
  /** All rows that there are now, so that a table that grows has an end; undefined when there are none. */
  whole(): Promise<Stretch | undefined>;
  /** Counts the values of the first rows of a stretch. `at` is the last of these rows; undefined when there was none. */
  count(stretch: Stretch): Promise<{ counts: KeyCount[]; at: string | undefined }>;
  /** The values which are not under `keyId`, of whole rows in order: a batch, or none when the first rows have none. */
  stale(stretch: Stretch, keyId: string): Promise<StoredValue[]>;
  /** The last of the rows that `stale` looked at when it found none; undefined when it saw all. */
  skip(stretch: Stretch): Promise<string | undefined>;
  /**
   * Puts ciphertexts in the place of others, in one statement. A row that changed since it was read, or that somebody is changing, is
   * left as it is. Gives how many values it replaced.
   */
  replace(replacements: readonly Replacement[]): Promise<number>;
}
