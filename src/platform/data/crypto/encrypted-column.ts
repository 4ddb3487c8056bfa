/** A column whose values are ciphertexts of the keyring. Key rotation covers only the columns declared this way. */
export interface EncryptedColumn {
  /** The name of the column in reports: `patient.iban`. */
  name: string;
  table: string;
  /** A text column; null and the empty text mean that there is no value. */
  column: string;
  /** Whether rows may move to this table from one that is declared later. A survey counts such a table once more at its end. */
  receivesRows?: boolean;
  /** The primary key of the table, a text column. Default `id`. */
  key?: string;
  /** Returns the encryption context of a row's value, from the row's primary key. */
  context(id: string): string;
  /** The resource whose outbox events contain the column. */
  resource?: string;
}
