import { type Readable, Transform } from 'node:stream';
import { type CsvRow, MAX_ROW_LENGTH, readCsv } from './csv.ts';

/** A file format of imports and exports. */
export type Format = 'csv' | 'ndjson';

/** One row of a file. */
export interface FileRow {
  /** The number of the row, without the header; starts at 1. */
  row: number;
  /** CSV: the cells. NDJSON: the object; empty if the row cannot be read. */
  content: readonly string[] | Record<string, unknown>;
  /** The error of a row that cannot be read. */
  error?: string;
}

/** A file that is read row by row. */
export interface RowSource {
  /** The header of a CSV file; undefined for NDJSON. */
  header: readonly string[] | undefined;
  /** The delimiter of a CSV file; undefined for NDJSON. */
  delimiter?: string;
  /** A sentence about the delimiter, if it was detected and is not the comma. */
  notice?: string;
  rows: AsyncIterable<FileRow>;
}

/** How a file is read. */
interface ReadOptions {
  format: Format;
  /** The character between two cells of a CSV file. Left out: it is detected. */
  delimiter?: string | undefined;
  /** Called with the number of bytes that were read. */
  onBytes?(bytes: number): void;
}

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

async function* numberCsvRows(rows: AsyncGenerator<CsvRow>, width: number): AsyncGenerator<FileRow> {
  let row = 0;
  for await (const { cells, error } of rows) {
    const wrongWidth = cells.length === width ? undefined : `Has ${cells.length} cells, but the header has ${width}`;
    const found = error ?? wrongWidth;
    yield { row: ++row, content: cells, ...(found !== undefined && { error: found }) };
  }
}

async function readCsvFile(text: AsyncIterable<string>, given: string | undefined): Promise<RowSource> {
  const { delimiter, detected, rows } = await readCsv(text, given);
  const { value: header, done } = await rows.next();
  if (done) throw new Error('The file is empty. Its first line must name the columns.');
  if (header.error !== undefined)
    throw new Error(`The first line must name the columns. It ${header.error.replace('Has', 'has')}.`);
  return {
    header: header.cells.map((name) => name.trim()),
    delimiter,
    ...(detected !== undefined && { notice: `The cells are separated by ${detected}` }),
    rows: numberCsvRows(rows, header.cells.length),
  };
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
async function* readLines(text: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of text) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    if (rest.length > MAX_ROW_LENGTH) throw new Error(`A line is longer than ${MAX_ROW_LENGTH} characters.`);
    yield* lines.filter((line) => line.trim() !== '');
  }
  if (rest.trim() !== '') yield rest;
}

async function* readNdjsonRows(text: AsyncIterable<string>): AsyncGenerator<FileRow> {
  let row = 0;
  for await (const line of readLines(text)) yield { row: ++row, ...parseNdjsonLine(line) };
}

/**
 * Reads rows of a file in constant memory.
 *
 * @param bytes the content of the file
 * @throws Error if the file cannot be read, is not UTF-8, or has no header
 */
export async function readRows(
  bytes: Readable,
  { format, delimiter, onBytes = () => undefined }: ReadOptions,
): Promise<RowSource> {
  const decoder = createUtf8Decoder(onBytes);
  bytes.on('error', (error) => decoder.destroy(error));
  // Rows are read later. An error before that reaches their reader, and must not end the process for lack of a listener.
  decoder.on('error', () => undefined);
  const text: AsyncIterable<string> = bytes.pipe(decoder).setEncoding('utf8');
  if (format === 'ndjson') return { header: undefined, rows: readNdjsonRows(text) };
  return readCsvFile(text, delimiter);
}
