import type { BulkResource, BulkWriteOptions } from '../../declare/bulk.ts';
import {
  type ColumnTargets,
  type ConvertedRow,
  convertCells,
  convertObject,
  createColumnTargets,
  findRepeatedColumn,
  type RowOptions,
} from './columns.ts';
import type { FileRow, RowSource } from './read-rows.ts';

/** Rows that are written together. */
const ROWS_PER_CHUNK = 500;

/** What an import has done. */
export interface ImportTotals {
  /** The number of the last row that was handled. */
  row: number;
  written: number;
}

/** How an import writes the rows of a file. */
export interface RowImport {
  resource: BulkResource;
  write: BulkWriteOptions;
  convert(row: FileRow): ConvertedRow;
  /** Rows to leave out at the beginning. */
  skip?: number | undefined;
  /** Called for each row that was not written. @param errors messages by column; the column `row` stands for the whole row */
  onRejected(row: FileRow, errors: Readonly<Record<string, string>>): void;
  /** Called before each chunk is written, with what was done before. The import ends with the error that it throws. */
  beforeChunk?(totals: Readonly<ImportTotals>): Promise<void>;
  /** Called after each chunk. */
  onChunk?(totals: Readonly<ImportTotals>): void;
  /** Whether the import ends before the next chunk. Left out: it never does. */
  isStopped?(): boolean;
}

/** Converts the public error of a row to messages by column. */
function toFieldErrors(error: {
  message: string;
  details: Record<string, string> | undefined;
}): Record<string, string> {
  return error.details ?? { row: error.message };
}

/** Writes rows, and rejects those that are invalid. Returns the number of rows that were written. */
async function writeChunk(
  { resource, write, convert, onRejected }: RowImport,
  rows: readonly FileRow[],
): Promise<number> {
  const converted = rows.map(
    (row): ConvertedRow => (row.error === undefined ? convert(row) : { errors: { row: row.error } }),
  );
  const valid = converted.flatMap((one, i) => ('errors' in one ? [] : [{ ...one, i }]));
  const results = valid.length === 0 ? [] : await resource.write(valid, write);
  const errors = converted.map((one) => ('errors' in one ? one.errors : undefined));
  for (const [at, error] of results.entries()) if (error !== undefined) errors[valid[at]!.i] = toFieldErrors(error);
  for (const [i, row] of rows.entries()) if (errors[i] !== undefined) onRejected(row, errors[i]);
  return errors.filter((one) => one === undefined).length;
}

/** Writes all rows in chunks. Each row is stored or rejected by itself. */
export async function writeRows(run: RowImport, rows: AsyncIterable<FileRow>): Promise<ImportTotals> {
  const { skip = 0 } = run;
  const totals: ImportTotals = { row: skip, written: 0 };
  let chunk: FileRow[] = [];
  const flush = async () => {
    if (chunk.length === 0) return;
    await run.beforeChunk?.(totals);
    totals.written += await writeChunk(run, chunk);
    totals.row = chunk.at(-1)!.row;
    chunk = [];
    run.onChunk?.(totals);
  };
  for await (const row of rows) {
    if (row.row <= skip) continue;
    chunk.push(row);
    if (chunk.length === ROWS_PER_CHUNK) await flush();
    if (run.isStopped?.()) return totals;
  }
  await flush();
  return totals;
}

/**
 * Creates the function that converts the rows of a file.
 *
 * @throws Error for an unknown column, and for one that is named twice
 */
export function createRowConverter(
  resource: BulkResource,
  { header }: Pick<RowSource, 'header'>,
  options: RowOptions,
): (row: FileRow) => ConvertedRow {
  const targets: ColumnTargets = createColumnTargets(resource, options);
  if (header === undefined) return ({ content }) => convertObject(content as Record<string, unknown>, targets, options);
  for (const column of header) targets.of(column);
  const repeated = findRepeatedColumn(header, options);
  if (repeated !== undefined) throw new Error(repeated);
  return ({ content }) => convertCells(header, content as readonly string[], targets, options);
}
