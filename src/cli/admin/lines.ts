import { createReadStream } from 'node:fs';
import type { ImportLine } from '../../accounts/import/import.ts';

/** In bytes, longer than the line of any user: a file that is not NDJSON must not fill the memory. */
const MAX_LINE_BYTES = 1_048_576;

const LINE_FEED = 10;

// Fatal, because invalid UTF-8 would otherwise silently become U+FFFD, in names too. It also drops a byte order mark.
const decoder = new TextDecoder('utf-8', { fatal: true });

function decodeLine(parts: readonly Buffer[]): ImportLine {
  try {
    return decoder.decode(parts.length === 1 ? parts[0] : Buffer.concat(parts));
  } catch {
    return { error: 'Is not UTF-8' };
  }
}

/** Yields the lines of a UTF-8 file one at a time. A line that cannot be read or exceeds one megabyte is replaced by its error. */
export async function* readLines(file: string): AsyncGenerator<ImportLine> {
  let parts: Buffer[] = [];
  let size = 0;
  const addPart = (part: Buffer) => {
    size += part.length;
    if (size > MAX_LINE_BYTES) parts = [];
    else parts.push(part);
  };
  const takeLine = (): ImportLine => {
    const line = size > MAX_LINE_BYTES ? { error: 'Is too long' } : decodeLine(parts);
    [parts, size] = [[], 0];
    return line;
  };
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      addPart(chunk.subarray(from, end));
      yield takeLine();
      from = end + 1;
    }
    addPart(chunk.subarray(from));
  }
  if (size > 0) yield takeLine();
}
