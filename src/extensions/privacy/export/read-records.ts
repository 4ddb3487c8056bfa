import {
  type Database,
  DecryptionError,
  type Fields,
  quoteIdentifier,
  type ResourceGateway,
  type StoredRecord,
  scanRows,
  snakeCase,
} from '../../../extension/index.ts';

/** Which records to read, the batch size, and what to do with unreadable values. */
interface ReadOptions {
  /** An SQL condition on the resource's table or archive, whose alias is `r`. */
  where: string;
  values: unknown[];
  /** Returns the number of rows of the next batch. */
  batchRows: () => number;
  /** Called for each record with a value that was altered and cannot be decrypted. The value is left out. */
  onUnreadable: () => void;
}

/** Returns the SQL column of a field, qualified with `r`, the alias of the table in `readRecords`. */
export function columnOf(field: string): string {
  return `r.${quoteIdentifier(snakeCase(field))}`;
}

/**
 * Reads the stored records of a resource that meet a condition, including kept deleted ones, which have `deletedAt`.
 *
 * @throws DecryptionError if the key of a value is missing
 */
export async function* readRecords(
  database: Pick<Database, 'holdConnection'>,
  gateway: ResourceGateway,
  { where, values, batchRows, onUnreadable }: ReadOptions,
): AsyncGenerator<StoredRecord[]> {
  const columns = gateway.columns('r');
  const fields = Object.entries(gateway.declaration.fields as Fields);
  const encrypted = new Set(fields.filter(([, { spec }]) => spec.encrypted).map(([name]) => columnOf(name)));
  const isEncryptedColumn = columns.split(', ').map((column) => encrypted.has(column));

  function decodeRow(row: unknown[]): StoredRecord {
    try {
      return gateway.fromRow(row);
    } catch (error) {
      // An encryption key that is missing now may be configured later: fail, so that the export is retried.
      if (!(error instanceof DecryptionError) || error.reason === 'unknown-key') throw error;
      onUnreadable();
      return gateway.fromRow(row.map((value, i) => (isEncryptedColumn[i] ? null : value)));
    }
  }

  const selectFromSql = (table: string, deletedAt: string) =>
    `select ${deletedAt}, ${columns} from ${quoteIdentifier(table)} r where ${where}`;
  const selectLiveRecordsSql = selectFromSql(gateway.table, 'null::timestamptz(3)');
  // One statement reads both tables in one snapshot, so a record that is deleted or restored meanwhile appears exactly once.
  const text =
    gateway.archiveTable === undefined
      ? selectLiveRecordsSql
      : `${selectLiveRecordsSql} union all ${selectFromSql(gateway.archiveTable, 'r.deleted_at')}`;
  for await (const rows of scanRows<[string | null, ...unknown[]]>(database, { text, values }, batchRows)) {
    yield rows.map(([deleted, ...row]) => {
      const record = decodeRow(row);
      if (deleted !== null) record.deletedAt = deleted;
      return record;
    });
  }
}
