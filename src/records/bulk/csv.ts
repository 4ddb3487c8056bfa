/** The longest row in characters: a file of another kind must not fill the memory. */
export const MAX_ROW_LENGTH = 8 * 2 ** 20;

const STRAY_QUOTE = 'Has a stray quote. Quotes must enclose a whole cell, and a quote inside it is written twice';

/** The first line that Excel uses to name the delimiter of a file. */
const SEPARATOR_LINE = /^sep=([^\w"])$/i;

/** Delimiters that are detected, and their names in messages. */
const DETECTED = new Map([
  [',', 'commas'],
  [';', 'semicolons'],
  ['\t', 'tabs'],
]);

/** One row of a CSV text. */
export interface CsvRow {
  cells: readonly string[];
  /** Why the row is malformed. Its cells are then the cells of its first line, with their quotes. */
  error?: string;
}

/** A CSV text that is read row by row. */
interface CsvSource {
  delimiter: string;
  /** How the cells are separated, for messages, if it was detected and is not the comma: `semicolons`. */
  detected: string | undefined;
  rows: AsyncGenerator<CsvRow>;
}

/** A row and the position behind it. */
interface ScannedRow {
  row: CsvRow;
  end: number;
}

/** Returns the position behind the line break at a position; -1 if the rest of the break may be in the next chunk. */
function skipLineBreak(text: string, at: number, isLast: boolean): number {
  if (text[at] === '\n') return at + 1;
  if (at + 1 === text.length && !isLast) return -1;
  return text[at + 1] === '\n' ? at + 2 : at + 1;
}

/** Returns the position of the quote that closes the cell which opens at a position; -1 if there is none. */
function findClosingQuote(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at !== -1; at = text.indexOf('"', at + 2))
    if (text[at + 1] !== '"') return at;
  return -1;
}

/**
 * Creates the function that reads the row at a position; it returns undefined if more text is needed. A malformed row ends with its first
 * line: a superfluous or missing quote then costs no other row.
 */
function createRowScanner(delimiter: string) {
  const escaped = `\\u${delimiter.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const plain = new RegExp(`[^${escaped}"\\r\\n]*`, 'y');

  function rejectLine(text: string, start: number, isLast: boolean): ScannedRow | undefined {
    const lineBreak = text.slice(start).search(/[\r\n]/);
    const lineEnd = lineBreak === -1 ? text.length : start + lineBreak;
    if (lineBreak === -1 && !isLast) return undefined;
    const end = lineEnd === text.length ? lineEnd : skipLineBreak(text, lineEnd, isLast);
    return end === -1
      ? undefined
      : { row: { cells: text.slice(start, lineEnd).split(delimiter), error: STRAY_QUOTE }, end };
  }

  return (text: string, start: number, isLast: boolean): ScannedRow | undefined => {
    const cells: string[] = [];
    let at = start;
    for (;;) {
      if (text[at] === '"') {
        const close = findClosingQuote(text, at);
        // Two quotes in a row may be a closing quote and the beginning of the next chunk.
        const isCut = close === -1 || close + 1 === text.length;
        if (isCut && !isLast) return undefined;
        if (close === -1) return rejectLine(text, start, isLast);
        cells.push(text.slice(at + 1, close).replaceAll('""', '"'));
        at = close + 1;
      } else {
        plain.lastIndex = at;
        cells.push(plain.exec(text)![0]);
        at = plain.lastIndex;
      }
      if (at === text.length) return isLast ? { row: { cells }, end: at } : undefined;
      if (text[at] === '\n' || text[at] === '\r') {
        const end = skipLineBreak(text, at, isLast);
        return end === -1 ? undefined : { row: { cells }, end };
      }
      if (text[at] !== delimiter) return rejectLine(text, start, isLast);
      at++;
    }
  };
}

/** The part of the first row, with line breaks in quotes, that is searched for delimiters. */
const FIRST_ROW = /^(?:"[^"]*"|[^"\r\n])*/;
const SEARCHED_LENGTH = 1 << 16;

/** Returns the most frequent delimiter of the first row, not counting those in quotes; the comma if there is none. */
function detectDelimiter(text: string): string {
  const [row] = FIRST_ROW.exec(text.slice(0, SEARCHED_LENGTH))!;
  const unquoted = row.replaceAll(/"[^"]*"/g, '');
  const counts = [...DETECTED.keys()].map((delimiter) => unquoted.split(delimiter).length);
  return [...DETECTED.keys()][counts.indexOf(Math.max(...counts))]!;
}

/**
 * Reads CSV in constant memory. Quoted cells may contain line breaks. Each row ends with LF, CR LF or CR, whatever other rows end with.
 * Rows whose cells are all empty are left out: spreadsheets write them below the data.
 *
 * @param delimiter one character. Default: the delimiter that a first line such as `sep=;` names, else the most frequent of comma,
 *   semicolon and tab in the first line
 * @throws Error for a line longer than `MAX_ROW_LENGTH`
 */
export async function readCsv(text: AsyncIterable<string>, delimiter?: string): Promise<CsvSource> {
  const chunks = text[Symbol.asyncIterator]();
  let buffer = '';
  let isLast = false;

  /** Reads as much as the buffer already has, because an incomplete row is scanned again from its beginning. */
  async function readMore(): Promise<void> {
    for (const wanted = 2 * buffer.length; !isLast && buffer.length <= wanted; ) {
      const { value, done } = await chunks.next();
      if (done) isLast = true;
      else buffer += value;
    }
  }

  while (!isLast && !/[^\r\n][\r\n]/.test(buffer) && buffer.length <= MAX_ROW_LENGTH) await readMore();
  buffer = buffer.replace(/^[\r\n]+/, '');
  const [firstLine] = buffer.split(/[\r\n]/, 1) as [string];
  const named = SEPARATOR_LINE.exec(firstLine)?.[1];
  if (named !== undefined) buffer = buffer.slice(firstLine.length);
  const chosen = delimiter ?? named ?? detectDelimiter(buffer);
  const scanRow = createRowScanner(chosen);

  async function* readRows(): AsyncGenerator<CsvRow> {
    let at = 0;
    try {
      while (!isLast || at < buffer.length) {
        // An open quote that fills the memory is malformed, like one that is still open at the end of the file.
        const isFull = buffer.length - at > MAX_ROW_LENGTH;
        const scanned = at < buffer.length ? scanRow(buffer, at, isLast || isFull) : undefined;
        if (scanned === undefined) {
          buffer = buffer.slice(at);
          at = 0;
          await readMore();
        } else if (scanned.end - at > MAX_ROW_LENGTH) {
          throw new Error(`A row is longer than ${MAX_ROW_LENGTH} characters.`);
        } else {
          at = scanned.end;
          if (scanned.row.cells.some((cell) => cell.trim() !== '')) yield scanned.row;
        }
      }
    } finally {
      await chunks.return?.();
    }
  }

  return {
    delimiter: chosen,
    detected: delimiter === undefined && named === undefined && chosen !== ',' ? DETECTED.get(chosen) : undefined,
    rows: readRows(),
  };
}
