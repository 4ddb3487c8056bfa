import type { QueryParameters } from './request.ts';

type Value = string | number | boolean | Date;

const toText = (value: Value): string => (value instanceof Date ? value.toISOString() : String(value));

/** @throws TypeError for a value that cannot be part of a list */
function joinValues(name: string, values: readonly Value[]): string {
  const texts = values.map(toText);
  const unsuitable = texts.find((text) => text === '' || text.includes(','));
  if (unsuitable !== undefined && (texts.length > 1 || unsuitable !== ''))
    throw new TypeError(`"${unsuitable}" in "${name}" must not be empty or contain a comma`);
  return texts.join(',');
}

// Brackets and commas are common in queries, and every server accepts them as they are.
const encode = (text: string): string => encodeURIComponent(text).replace(/%(5B|5D|2C)/g, decodeURIComponent);

/**
 * Encodes parameters as a query string with its question mark; empty without parameters.
 *
 * @throws TypeError for a value that cannot be part of a list; RangeError for an invalid date
 */
export function encodeQuery(parameters: QueryParameters): string {
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined || value === null) continue;
    const text = Array.isArray(value) ? joinValues(name, value) : toText(value as Value);
    pairs.push(`${encode(name)}=${encode(text)}`);
  }
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

/**
 * Encodes a value for one segment of a path.
 *
 * @param name the name of the value, for the error
 * @throws TypeError for a value that would change the path: an empty text, `.` or `..`
 */
export function encodeSegment(value: unknown, name: string): string {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  if (/^\.{0,2}$/.test(text))
    throw new TypeError(`${name} must be a text that is not empty, not ${JSON.stringify(value)}`);
  return encodeURIComponent(text);
}
