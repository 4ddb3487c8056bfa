import { createReadStream } from 'node:fs';

/** Beyond any user: a file that is no NDJSON must not fill the memory. */
const LONGEST_LINE = 1_048_576;

/** The lines of a file, one at a time; undefined in place of one above a million characters. */
export async function* linesOf(file: string): AsyncGenerator<string | undefined> {
  let held = '';
  let tooLong = false;
  for await (const chunk of createReadStream(file, 'utf8')) {
    const parts = (chunk as string).split('\n');
    for (const [i, part] of parts.entries()) {
      if (i > 0) {
        yield tooLong ? undefined : held;
        [held, tooLong] = ['', false];
      }
      held = tooLong ? '' : held + part;
      tooLong ||= held.length > LONGEST_LINE;
    }
  }
  if (tooLong) yield undefined;
  else if (held !== '') yield held;
}
