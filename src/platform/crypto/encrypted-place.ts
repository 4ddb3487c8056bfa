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
  next: string;
}

/**
 * Somewhere that ciphertexts are kept, gone through in the order of a primary key. Every call is one short statement, whatever
 * the size of the table.
 */
export interface EncryptedPlace {
  table: string;
  /** Comes before every row. */
  first: string;
  /** Counts the values of the rows that follow `after`. `last` is undefined when there are none. */
  count(after: string): Promise<{ counts: KeyCount[]; last: string | undefined }>;
  /** The values of the rows that follow `after` which are not under `keyId`, whole rows in order: a batch, or none when the rows looked at have none. */
  stale(after: string, keyId: string): Promise<StoredValue[]>;
  /** The row up to which `stale` looked when it found none; undefined at the end. */
  skip(after: string): Promise<string | undefined>;
  /**
   * Puts ciphertexts in the place of others, in one statement. A row that changed since it was read, or that somebody is changing, is
   * left as it is. Gives how many values it replaced.
   */
  replace(replacements: readonly Replacement[]): Promise<number>;
}
