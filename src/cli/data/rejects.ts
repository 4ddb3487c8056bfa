import { closeSync, openSync, writeSync } from 'node:fs';
import { stringify } from 'csv-stringify/sync';
import { REJECTION_COLUMNS } from '../../records/bulk/columns.ts';
import type { FileRow, RowSource } from '../../records/bulk/read-rows.ts';

/** The file of rejected rows. It exists only if a row was rejected. */
export interface Rejects {
  /** @param errors messages by column; the column `row` stands for the whole row */
  add(row: FileRow, errors: Readonly<Record<string, string>>): void;
  count(): number;
  close(): void;
}

/** Formats the errors of a row: `title: Is required; price: Must be a number`. */
export function formatErrors(errors: Readonly<Record<string, string>>): string {
  return Object.entries(errors)
    .map(([column, message]) => (column === 'row' ? message : `${column}: ${message}`))
    .join('; ');
}

/**
 * Creates the file of rejected rows: the rows as they were, with their numbers and errors, so that it can be corrected and imported again.
 *
 * @param source the file that is imported
 */
export function createRejects(
  file: string,
  { header, delimiter = ',' }: Pick<RowSource, 'header' | 'delimiter'>,
): Rejects {
  let open: number | undefined;
  let count = 0;
  const isOwn = (name: string) => REJECTION_COLUMNS.some((own) => own === name);
  const formatCells = (cells: readonly string[]) => stringify([cells], { delimiter });

  function formatRow({ row, content }: FileRow, error: string): string {
    if (header === undefined) return `${JSON.stringify({ ...content, _row: row, _error: error })}\n`;
    const cells = content as readonly string[];
    const inColumns = cells.filter((_, i) => i < header.length && !isOwn(header[i]!));
    // Cells beyond the header stay, so that nothing of the row is lost.
    return formatCells([...inColumns, String(row), error, ...cells.slice(header.length)]);
  }

  return {
    add(row, errors) {
      if (open === undefined) {
        // Only its owner can read it: the rows may contain personal data.
        open = openSync(file, 'w', 0o600);
        if (header !== undefined)
          writeSync(open, formatCells([...header.filter((name) => !isOwn(name)), ...REJECTION_COLUMNS]));
      }
      writeSync(open, formatRow(row, formatErrors(errors)));
      count++;
    },
    count: () => count,
    close: () => void (open !== undefined && closeSync(open)),
  };
}
