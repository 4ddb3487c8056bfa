import { isStorable, UNSTORABLE } from '../../platform/data/postgres/values.ts';
import { ApiError, type ErrorDetails } from '../../platform/helpers/errors.ts';
import { findExceededJsonLimit } from '../../platform/helpers/json/json-limits.ts';

/** The maximum size of the input and of the result of a job, in bytes of JSON. */
const MAX_BYTES = 64 * 1024;
/** The maximum number of fields in one object: the default limit of request bodies. */
const MAX_KEYS = 1000;
const MAX_ERROR_BYTES = 1024;

/** A value as JSON text, or why it cannot be stored. */
type JsonText = { text: string; error?: undefined } | { text?: undefined; error: string };

/** Whether all texts in a value that JSON.parse returned can be stored. The caller has checked how deeply it is nested. */
function hasStorableTexts(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value);
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(hasStorableTexts);
  return Object.entries(value).every(([key, member]) => isStorable(key) && hasStorableTexts(member));
}

function stringify(value: unknown): string | undefined {
  try {
    // For a function, JSON.stringify returns undefined, although its type does not say so.
    return JSON.stringify(value);
  } catch {
    // The value contains itself or a BigInt, or its toJSON threw.
    return undefined;
  }
}

/** Converts a value to JSON text that can be stored: at most 64 KB, not too deeply nested, without NUL or broken characters. */
export function toStorableJson(value: unknown): JsonText {
  const text = stringify(value);
  if (text === undefined) return { error: 'Must be JSON: no functions, no BigInt, and no object that contains itself' };
  const bytes = Buffer.from(text);
  if (bytes.length > MAX_BYTES)
    return {
      error: `Must be at most ${MAX_BYTES} bytes of JSON, but has ${bytes.length}. Store the data, and pass its id`,
    };
  const exceeded = findExceededJsonLimit(bytes, MAX_KEYS);
  if (exceeded !== undefined) return { error: exceeded };
  // JSON.stringify escapes NUL and lone surrogates, besides other control characters.
  if (text.includes('\\u') && !hasStorableTexts(JSON.parse(text))) return { error: UNSTORABLE };
  return { text };
}

/**
 * Checks the shape of an argument that is an object of options, which plain JavaScript may pass in any form.
 *
 * @param name the name of the argument
 * @returns a message for the argument if it is no object; otherwise a message per unknown option
 */
export function checkOptionNames(name: string, options: unknown, known: readonly string[]): ErrorDetails {
  const isPlain =
    typeof options === 'object' && options !== null && !Array.isArray(options) && !(options instanceof Date);
  if (!isPlain) return { [name]: `Must be an object: { ${known.join(', ')} }` };
  const unknown = Object.keys(options).filter((key) => !known.includes(key));
  return Object.fromEntries(unknown.map((key) => [key, 'Unknown option']));
}

/** Shortens a text to a number of bytes in UTF-8, without breaking a character. */
function truncateToBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes - 3));
  return `${text.slice(0, read)}…`;
}

function describeThrown(error: unknown): string {
  if (error instanceof ApiError) {
    const details = Object.entries(error.details ?? {}).map(([name, message]) => `${name}: ${message}`);
    return [`${error.code}: ${error.message}`, ...details].join('; ');
  }
  if (error instanceof Error) return `${error.name}: ${error.message}`;
  return typeof error === 'string' ? error : `Thrown: ${stringify(error) ?? String(error)}`;
}

/** Describes a value that a job threw, of any type, as a text of at most 1 KB that can be stored. */
export function toErrorText(error: unknown): string {
  let text: string;
  try {
    text = describeThrown(error);
  } catch {
    text = 'The job threw a value that cannot be described';
  }
  return truncateToBytes(text.toWellFormed().replaceAll('\0', '') || 'The job threw an empty text', MAX_ERROR_BYTES);
}
