/** Maximum nesting depth of arrays and objects. */
const MAX_DEPTH = 32;

const MAX_VALUES = 100_000;

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const SPACE = 0x20;

/** The message for an object with too many fields. */
export function tooManyKeysMessage(maxKeys: number): string {
  return `Must have at most ${maxKeys} fields in one object`;
}

// The bytes that matter outside strings; all others (numbers, literals, white space) are 0 and skipped.
const STRUCTURAL = new Uint8Array(256);
for (const byte of [QUOTE, COMMA, COLON, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT]) STRUCTURAL[byte] = byte;

// indexOf() skips a long string many times faster than a loop, but a call costs about as much as 64 iterations.
const SHORT_STRING = 64;

/** Returns the index of the quotation mark that closes the string whose content begins at `start`; `json.length` if none does. */
function findEndOfString(json: Uint8Array, start: number): number {
  for (let at = start; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at++;
    else if (at === start + SHORT_STRING) {
      const end = json.indexOf(QUOTE, at);
      if (end === -1) return json.length;
      if (json[end - 1] !== BACKSLASH) return end;
    }
  }
  return json.length;
}

/**
 * Checks the limits of a JSON text: nesting levels, number of values, fields per object. 100 kB of brackets can be nested
 * 50,000 levels deep, which breaks JSON.stringify, zod and jsonb. Reads the text rather than the parsed value, because walking
 * thousands of small objects costs more than parsing them. A repeated field name counts each time.
 *
 * @param json valid JSON in UTF-8; for any other bytes the result is meaningless
 * @param maxKeys the maximum number of fields in one object
 * @param maxRootKeys the maximum number of fields in the root object; infinite if the caller counts these fields later, so that
 *   errors can name them
 * @returns the message of the first limit that is exceeded; undefined if none is
 */
export function findExceededJsonLimit(json: Uint8Array, maxKeys: number, maxRootKeys = maxKeys): string | undefined {
  // The number of fields so far of each open object, by level; 0 for an open array.
  const fields: number[] = [];
  let values = 0;
  for (let at = 0; at < json.length; at++) {
    switch (STRUCTURAL[json[at]!]) {
      case 0:
        continue;
      case QUOTE:
        at = findEndOfString(json, at + 1);
        break;
      case COMMA:
        if (++values > MAX_VALUES) return `Must have at most ${MAX_VALUES} values`;
        break;
      case COLON: {
        const count = ++fields[fields.length - 1]!;
        if (count > (fields.length === 1 ? maxRootKeys : maxKeys)) return tooManyKeysMessage(maxKeys);
        break;
      }
      case OPEN_ARRAY:
      case OPEN_OBJECT: {
        if (fields.push(0) > MAX_DEPTH + 1) return `Must be nested at most ${MAX_DEPTH} levels deep`;
        while (json[at + 1]! <= SPACE) at++;
        const next = json[at + 1];
        // The first value has no comma before it, so count it here.
        if (next !== CLOSE_ARRAY && next !== CLOSE_OBJECT && ++values > MAX_VALUES)
          return `Must have at most ${MAX_VALUES} values`;
        break;
      }
      default:
        fields.pop();
    }
  }
  return undefined;
}
