import { type CsvRow, type Delimiter, detectDelimiter, readCsv } from './csv.ts';
import { decodeText, detectEncoding, type Encoding, isWorkbook } from './encoding.ts';

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
function usedColumns({ cells }: CsvRow, rows: readonly CsvRow[]): number {
  let width = cells.length;
  const isEmpty = (row: CsvRow) => (row.cells[width - 1] ?? '').trim() === '';
  while (width > 1 && cells[width - 1]?.trim() === '' && rows.every(isEmpty)) width--;
  if (width > MAX_COLUMNS)
    throw new Error(`The first row has ${width} columns. At most ${MAX_COLUMNS} can be imported.`);
  return width;
}

/** Lets the page respond to the user. */
const pause = () => new Promise((resolve) => setTimeout(resolve));

/**
 * Reads a CSV file. The page stays responsive meanwhile.
 *
 * @throws Error for a file that cannot be imported; the error of the signal
 */
export async function readSource(file: File, choice: ReadChoice, signal: AbortSignal): Promise<Source> {
  if (file.size > MAX_BYTES)
    throw new Error('The file is larger than 50 MiB. Split it, or use the command belfry import.');
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (isWorkbook(bytes))
    throw new Error('This is an Excel workbook. In Excel, save it as "CSV UTF-8", then choose that file.');
  const encoding = choice.encoding ?? detectEncoding(bytes);
  const text = decodeText(bytes, encoding);
  const delimiter = choice.delimiter ?? detectDelimiter(text);
  const rows: CsvRow[] = [];
  let pauseAt = performance.now() + WORK_MS;
  for (const row of readCsv(text, delimiter)) {
    if (rows.length > MAX_ROWS)
      throw new Error('The file has more than 100,000 rows. Split it, or use the command belfry import.');
    rows.push(row);
    if (performance.now() < pauseAt) continue;
    await pause();
    signal.throwIfAborted();
    pauseAt = performance.now() + WORK_MS;
  }
  const header = rows.shift();
  if (header === undefined) throw new Error('The file is empty. Its first row must name the columns.');
  if (header.error !== undefined)
    throw new Error(`The first row must name the columns. It ${header.error.replace('Has', 'has')}.`);
  const allColumns = header.cells.length;
  const width = usedColumns(header, rows);
  return {
    name: file.name,
    encoding,
    delimiter,
    header: header.cells.slice(0, width).map((name) => name.trim()),
    rows: rows.map((row) =>
      row.error !== undefined || row.cells.length === allColumns
        ? { ...row, cells: row.cells.slice(0, width) }
        : { ...row, error: `Has ${row.cells.length} cells, but the first row has ${allColumns}` },
    ),
  };
}
