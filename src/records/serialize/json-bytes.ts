const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTED = 0x20;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what JSON escapes
const ESCAPED = /[\u0000-\u001f"\\]/;
// The other control characters take six bytes: \u0001.
const SHORT_ESCAPES = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d]);

function stringBytes(text: string): number {
  let bytes = Buffer.byteLength(text) + 2;
  if (!ESCAPED.test(text)) return bytes;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < FIRST_PRINTED) bytes += SHORT_ESCAPES.has(code) ? 1 : 5;
    else if (code === QUOTE || code === BACKSLASH) bytes += 1;
  }
  return bytes;
}

/**
 * The bytes of a value of a record as JSON in UTF-8, escapes included. Without writing the JSON: it may be megabytes, of which
 * only the count is needed.
 */
export function jsonBytes(value: unknown): number {
  if (typeof value === 'string') return stringBytes(value);
  if (typeof value !== 'object' || value === null) return String(value).length;
  let bytes = 2;
  if (Array.isArray(value)) for (const item of value) bytes += 1 + jsonBytes(item);
  else for (const [key, item] of Object.entries(value)) bytes += 2 + stringBytes(key) + jsonBytes(item);
  return bytes;
}
