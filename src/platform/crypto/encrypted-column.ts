/** A column whose values are ciphertexts of the keyring. A rotation finds them by this: a column that is not named is left behind. */
export interface EncryptedColumn {
  /** What it is called in reports: `patient.iban`. */
  name: string;
  table: string;
  /** A text; null and the empty text stand for no value. */
  column: string;
  /** The table's primary key, a text. Default `id`. */
  key?: string;
  /** What the value of a row is bound to, from the row's primary key. */
  context(id: string): string;
  /** The resource whose events carry the column in the outbox. */
  resource?: string;
}
