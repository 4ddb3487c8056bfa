import type { Texts } from './texts.en.ts';
// Reads and writes CSV (RFC 4180) as the server does. The server reads a stream; this file reads a text that is in memory.

/** A delimiter of cells. */
export type Delimiter = ',' | ';' | '\t';

const DELIMITERS: readonly Delimiter[] = [',', ';', '\t'];
/** The first line that Excel uses to name the delimiter of a file. */
const SEPARATOR_LINE = /^sep=([,;\t])(?:\r\n|\r|\n|$)/i;
/** The part of the first row, with line breaks in quotes, that is searched for delimiters. */
const FIRST_ROW = /^[\r\n]*((?:"[^"]*"|[^"\r\n])*)/;
const SEARCHED_LENGTH = 1 << 16;

/** A row of a CSV text. */
export interface CsvRow {
  /** Its number as a spreadsheet shows it: starts at 1, with the header and empty rows. */
  number: number;
  cells: readonly string[];
  /** Why the row is malformed. Its cells are then those of its first line, with their quotes. */
  error?: string;
}

/** Returns the delimiter that a line such as `sep=;` names, else the most frequent one of the first row outside of quotes. */
export function detectDelimiter(text: string): Delimiter {
  const start = text.slice(0, SEARCHED_LENGTH);
  const named = DELIMITERS.find((one) => one === SEPARATOR_LINE.exec(start)?.[1]);
  if (named !== undefined) return named;
  const unquoted = (FIRST_ROW.exec(start)?.[1] ?? '').replaceAll(/"[^"]*"/g, '');
  const count = (delimiter: Delimiter) => unquoted.split(delimiter).length;
  return DELIMITERS.reduce((best, one) => (count(one) > count(best) ? one : best));
}

/** Returns the position of the quote that closes the cell which opens at a position; -1 if there is none. */
function findClosingQuote(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at !== -1; at = text.indexOf('"', at + 2))
    if (text[at + 1] !== '"') return at;
  return -1;
}

/** The position behind the line break at a position. */
const skipLineBreak = (text: string, at: number): number => (text.startsWith('\r\n', at) ? at + 2 : at + 1);

/** Reads the line at a position as a malformed row: a superfluous or missing quote then costs no other row. */
function rejectLine(text: string, start: number, delimiter: Delimiter, error: string) {
  const lineBreak = /[\r\n]|$/g;
  lineBreak.lastIndex = start;
  const end = lineBreak.exec(text)?.index ?? text.length;
  return {
    cells: text.slice(start, end).split(delimiter),
    error,
    end: skipLineBreak(text, end),
  };
}

/** Creates the function that reads the row at a position. */
function createRowScanner(text: string, delimiter: Delimiter, { strayQuote }: Texts) {
  const plain = new RegExp(`[^${delimiter}"\\r\\n]*`, 'y');
  return (start: number): { cells: string[]; error?: string; end: number } => {
    const cells: string[] = [];
    for (let at = start; ; at++) {
      if (text[at] === '"') {
        const close = findClosingQuote(text, at);
        if (close === -1) return rejectLine(text, start, delimiter, strayQuote);
        cells.push(text.slice(at + 1, close).replaceAll('""', '"'));
        at = close + 1;
      } else {
        plain.lastIndex = at;
        const cell = plain.exec(text)?.[0] ?? '';
        cells.push(cell);
        at += cell.length;
      }
      if (at >= text.length || text[at] === '\n' || text[at] === '\r') return { cells, end: skipLineBreak(text, at) };
      if (text[at] !== delimiter) return rejectLine(text, start, delimiter, strayQuote);
    }
  };
}

/**
 * Reads the rows of a CSV text, one at a time. Each row ends with LF, CR LF or CR. Rows whose cells are all empty are left out: spreadsheets
 * write them below the data.
 */
export function* readCsv(text: string, delimiter: Delimiter, texts: Texts): Generator<CsvRow> {
  const scan = createRowScanner(text, delimiter, texts);
  let number = 0;
  for (let at = SEPARATOR_LINE.exec(text)?.[0].length ?? 0; at < text.length; ) {
    const { end, ...row } = scan(at);
    at = end;
    number++;
    if (row.cells.some((cell) => cell.trim() !== '')) yield { number, ...row };
  }
}

/** Writes rows as CSV. Cells are quoted where they must be. */
export function formatCsv(rows: Iterable<readonly string[]>, delimiter: Delimiter): string {
  const quote = (cell: string) => (/[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  return Array.from(rows, (cells) => `${cells.map(quote).join(delimiter)}\r\n`).join('');
}
