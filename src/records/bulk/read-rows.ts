import { type Readable, Transform } from 'node:stream';
import { parse } from 'csv-parse';

/** A file format of imports and exports. */
export type Format = 'csv' | 'ndjson';

/** One row of a file. */
export interface FileRow {
  /** The number of the row, without the header; starts at 1. */
  row: number;
  /** CSV: the cells. NDJSON: the object. */
  content: readonly string[] | Record<string, unknown>;
  /** The error of a row that cannot be read; then `content` is empty. */
  error?: string;
}

/** A file that is read row by row. */
export interface RowSource {
  /** The header of a CSV file; undefined for NDJSON. */
  header: readonly string[] | undefined;
  rows: AsyncIterable<FileRow>;
}

/** The longest row in bytes: a file of another kind must not fill the memory. */
const MAX_ROW_BYTES = 8 * 2 ** 20;

const LINE_FEED = 10;

function countLineFeeds(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) count++;
  return count;
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** The number of the first line in a chunk that is not UTF-8. */
function findInvalidLine(chunk: Buffer, linesBefore: number): number {
  let from = 0;
  for (let line = linesBefore + 1; ; line++) {
    const end = chunk.indexOf(LINE_FEED, from);
    if (end === -1 || !isUtf8(chunk.subarray(from, end))) return line;
    from = end + 1;
  }
}

/** Decodes UTF-8, with or without a byte order mark. Any other encoding is an error that names the line. */
function createUtf8Decoder(onBytes: (bytes: number) => void): Transform {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let lines = 0;
  let isFirst = true;
  return new Transform({
    readableObjectMode: false,
    transform(chunk: Buffer, _encoding, callback) {
      if (isFirst && ((chunk[0] === 0xff && chunk[1] === 0xfe) || (chunk[0] === 0xfe && chunk[1] === 0xff))) {
        callback(new Error('The file is UTF-16. Save it as UTF-8, then import it again.'));
        return;
      }
      isFirst = false;
      onBytes(chunk.length);
      try {
        callback(null, decoder.decode(chunk, { stream: true }));
        lines += countLineFeeds(chunk);
      } catch {
        callback(
          new Error(
            `Line ${findInvalidLine(chunk, lines)} is not UTF-8. Save the file as UTF-8, then import it again.`,
          ),
        );
      }
    },
    flush(callback) {
      try {
        callback(null, decoder.decode());
      } catch {
        callback(new Error(`Line ${lines + 1} is not UTF-8. Save the file as UTF-8, then import it again.`));
      }
    },
  });
}

function describeCsvError(error: unknown): Error {
  const { code, message, lines } = error as Error & { code?: string; lines?: number };
  if (code === undefined || !code.startsWith('CSV_')) return error as Error;
  if (code === 'CSV_QUOTE_NOT_CLOSED')
    return new Error(`A quoted cell is not closed: the file ends at line ${lines} inside a cell that begins with ".`);
  if (code === 'CSV_MAX_RECORD_SIZE')
    return new Error(`A row is larger than ${MAX_ROW_BYTES} bytes, at line ${lines}.`);
  return new Error(`The CSV is malformed: ${message}`);
}

/** Yields the rows of a CSV text. Quoted cells may contain line breaks; lines may end with CR LF. Empty lines are left out. */
async function* readCsvRows(text: Readable): AsyncGenerator<readonly string[]> {
  const parser = parse({ relax_column_count: true, skip_empty_lines: true, max_record_size: MAX_ROW_BYTES });
  text.on('error', (error) => parser.destroy(error));
  text.pipe(parser);
  try {
    yield* parser as AsyncIterable<string[]>;
  } catch (error) {
    throw describeCsvError(error);
  } finally {
    text.destroy();
  }
}

async function* readCsvFileRows(
  rows: AsyncIterator<readonly string[]>,
  header: readonly string[],
): AsyncGenerator<FileRow> {
  for (let row = 1; ; row++) {
    const { value: cells, done } = await rows.next();
    if (done) return;
    const isComplete = cells.length === header.length;
    const error = `Has ${cells.length} cells, but the header has ${header.length}`;
    yield { row, content: cells, ...(isComplete ? {} : { error }) };
  }
}

function parseNdjsonLine(line: string): Pick<FileRow, 'content' | 'error'> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { content: value as Record<string, unknown> };
    return { content: {}, error: 'Must be a JSON object' };
  } catch {
    return { content: {}, error: 'Is not valid JSON' };
  }
}

/** Yields the lines of a text, without empty ones. */
async function* readLines(text: Readable): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of text.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    if (rest.length > MAX_ROW_BYTES) throw new Error(`A line is larger than ${MAX_ROW_BYTES} bytes.`);
    yield* lines.filter((line) => line.trim() !== '');
  }
  if (rest.trim() !== '') yield rest;
}

async function* readNdjsonRows(text: Readable): AsyncGenerator<FileRow> {
  let row = 0;
  for await (const line of readLines(text)) yield { row: ++row, ...parseNdjsonLine(line) };
}

/**
 * Reads rows of a file in constant memory.
 *
 * @param bytes the content of the file
 * @param onBytes called with the number of bytes that were read
 * @throws Error if the file cannot be read, is not UTF-8, or has no header
 */
export async function readRows(
  bytes: Readable,
  format: Format,
  onBytes: (bytes: number) => void = () => undefined,
): Promise<RowSource> {
  const decoder = createUtf8Decoder(onBytes);
  bytes.on('error', (error) => decoder.destroy(error));
  // Rows are read later. An error before that reaches their reader, and must not end the process for lack of a listener.
  decoder.on('error', () => undefined);
  const text = bytes.pipe(decoder);
  if (format === 'ndjson') return { header: undefined, rows: readNdjsonRows(text) };
  const rows = readCsvRows(text);
  const { value: header, done } = await rows.next();
  if (done) throw new Error('The file is empty. Its first line must name the columns.');
  return { header: header.map((name: string) => name.trim()), rows: readCsvFileRows(rows, header) };
}
