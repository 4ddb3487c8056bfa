import { type CsvRow, type Delimiter, detectDelimiter, readCsv } from './csv.ts';
import { decodeText, detectEncoding, type Encoding, isWorkbook } from './encoding.ts';
import type { Texts } from './texts.en.ts';

const MAX_BYTES = 50 * 2 ** 20;
const MAX_ROWS = 100_000;
const MAX_COLUMNS = 500;
/** ms of work after which the page may respond to the user. */
const WORK_MS = 20;

/** How a file is read. What is left out is found. */
export interface ReadChoice {
  encoding?: Encoding;
  delimiter?: Delimiter;
}

/** A CSV file that was read. */
export interface Source {
  name: string;
  encoding: Encoding;
  delimiter: Delimiter;
  header: readonly string[];
  /** The rows below the header. */
  rows: readonly CsvRow[];
}

/** The number of columns without those at the end that are empty in all rows, as spreadsheets write them. */
function usedColumns({ cells }: CsvRow, rows: readonly CsvRow[], texts: Texts): number {
  let width = cells.length;
  const isEmpty = (row: CsvRow) => (row.cells[width - 1] ?? '').trim() === '';
  while (width > 1 && cells[width - 1]?.trim() === '' && rows.every(isEmpty)) width--;
  if (width > MAX_COLUMNS) throw new Error(texts.tooManyColumns(width, MAX_COLUMNS));
  return width;
}

/** Lets the page respond to the user. */
const pause = () => new Promise((resolve) => setTimeout(resolve));

/**
 * Reads a CSV file. The page stays responsive meanwhile.
 *
 * @throws Error for a file that cannot be imported; the error of the signal
 */
export async function readSource(file: File, choice: ReadChoice, signal: AbortSignal, texts: Texts): Promise<Source> {
  if (file.size > MAX_BYTES) throw new Error(texts.tooLarge);
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (isWorkbook(bytes)) throw new Error(texts.workbook);
  const encoding = choice.encoding ?? detectEncoding(bytes);
  const text = decodeText(bytes, encoding);
  const delimiter = choice.delimiter ?? detectDelimiter(text);
  const rows: CsvRow[] = [];
  let pauseAt = performance.now() + WORK_MS;
  for (const row of readCsv(text, delimiter, texts)) {
    if (rows.length > MAX_ROWS) throw new Error(texts.tooManyRows);
    rows.push(row);
    if (performance.now() < pauseAt) continue;
    await pause();
    signal.throwIfAborted();
    pauseAt = performance.now() + WORK_MS;
  }
  const header = rows.shift();
  if (header === undefined) throw new Error(texts.empty);
  if (header.error !== undefined) throw new Error(texts.badHeader);
  const allColumns = header.cells.length;
  const width = usedColumns(header, rows, texts);
  return {
    name: file.name,
    encoding,
    delimiter,
    header: header.cells.slice(0, width).map((name) => name.trim()),
    rows: rows.map((row) =>
      row.error !== undefined || row.cells.length === allColumns
        ? { ...row, cells: row.cells.slice(0, width) }
        : { ...row, error: texts.wrongLength(row.cells.length, allColumns) },
    ),
  };
}
