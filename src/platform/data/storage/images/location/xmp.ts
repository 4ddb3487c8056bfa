/** Names of properties with a position: those of Exif, and those of drones. */
const NAME = String.raw`[\w.-]{1,40}:(?:gps\w{0,60}|latitude|longitude|longtitude)`;
const ATTRIBUTE = new RegExp(String.raw`\s${NAME}\s*=\s*(?:"[^"]*"|'[^']*')`, 'gi');
const ELEMENT = new RegExp(String.raw`<(${NAME})(?=[\s/>])[^>]*>`, 'gi');
/** Elements that are looked at: each may cost a search to the end. */
const MAX_ELEMENTS = 200;

/** Overwrites a part of the text with spaces, which keeps all lengths. */
const blank = (bytes: Buffer, start: number, end: number) => bytes.fill(0x20, start, end);

/**
 * Removes the position from XMP metadata, in place.
 *
 * @returns whether there was a position
 */
export function eraseXmpPosition(bytes: Buffer): boolean {
  // One character for each byte: the names and quotes are ASCII.
  const text = bytes.toString('latin1');
  let count = 0;
  for (const { index, 0: found } of text.matchAll(ATTRIBUTE)) {
    blank(bytes, index, index + found.length);
    count += 1;
  }
  let elements = 0;
  let done = 0;
  for (const { index, 0: found, 1: name } of text.matchAll(ELEMENT)) {
    if (index < done) continue;
    elements += 1;
    if (elements > MAX_ELEMENTS) {
      blank(bytes, index, bytes.length);
      break;
    }
    const closing = found.endsWith('/>') ? index : text.indexOf(`</${name}`, index);
    const end = closing < 0 ? -1 : text.indexOf('>', closing);
    done = end < 0 ? index + found.length : end + 1;
    blank(bytes, index, done);
  }
  return count + elements > 0;
}
