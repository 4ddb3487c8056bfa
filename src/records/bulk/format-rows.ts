import { stringify } from 'csv-stringify/sync';
import type { BulkResource } from '../../declare/bulk.ts';
import { formatCell } from './cells.ts';
import type { Format } from './read-rows.ts';

/** The columns of an export: the id, the fields that can be exported, and the times. */
export function exportColumnsOf({ readable, timestamps }: Pick<BulkResource, 'readable' | 'timestamps'>): string[] {
  return ['id', ...readable.map(({ name }) => name), ...(timestamps ? ['createdAt', 'updatedAt'] : [])];
}

/** Without it, Excel reads a CSV file in the encoding of the system. */
const BYTE_ORDER_MARK = '\ufeff';

/** Formats the lines of a file. */
interface RowFormatter {
  /** The first line; empty for NDJSON. */
  header: string;
  /** Formats records as lines. */
  format(records: readonly Record<string, unknown>[]): string;
}

/**
 * Creates the function that formats records as lines.
 *
 * @param options `forSpreadsheet` begins a CSV file with a byte order mark, and puts an apostrophe before texts that a spreadsheet would
 * calculate as a formula
 */
export function createRowFormatter(
  { readable }: Pick<BulkResource, 'readable'>,
  columns: readonly string[],
  { format, forSpreadsheet = false }: { format: Format; forSpreadsheet?: boolean | undefined },
): RowFormatter {
  if (format === 'ndjson') {
    const formatRecord = (record: Record<string, unknown>) =>
      `${JSON.stringify(Object.fromEntries(columns.map((name) => [name, record[name]])))}\n`;
    return { header: '', format: (records) => records.map(formatRecord).join('') };
  }
  const types = new Map(readable.map(({ name, type }) => [name, type.jsonType]));
  const toCells = (record: Record<string, unknown>) =>
    columns.map((name) => formatCell(record[name], types.get(name) ?? 'string', forSpreadsheet));
  const header = `${forSpreadsheet ? BYTE_ORDER_MARK : ''}${stringify([columns])}`;
  return { header, format: (records) => stringify(records.map(toCells)) };
}
