import { ApiError } from '../helpers/errors.ts';

const MAX_PARAMETERS = 1000;

/** Decodes a part of a query string. */
function decodeQueryComponent(part: string): string {
  const spaced = part.includes('+') ? part.replaceAll('+', ' ') : part;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch (error) {
    const message = 'The query string is malformed: each % must start a percent-encoded UTF-8 character, such as %20';
    throw new ApiError('BAD_REQUEST', message, { cause: error });
  }
}

/**
 * Parses a query string. Stricter than `node:querystring`, which drops excess parameters and guesses the meaning of malformed input:
 * a filter must never be dropped or changed silently.
 *
 * @param text without the question mark; null or empty if there is none
 * @returns a flat object with null prototype; a repeated parameter is an array
 * @throws ApiError BAD_REQUEST for a malformed escape, invalid UTF-8, or too many parameters
 */
export function parseQueryString(text: string | null | undefined): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null);
  if (text === undefined || text === null || text === '') return query;
  const parts = text.split('&');
  if (parts.length > MAX_PARAMETERS) {
    throw new ApiError('BAD_REQUEST', `The query string must have at most ${MAX_PARAMETERS} parameters`);
  }
  for (const part of parts) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decodeQueryComponent(equals === -1 ? part : part.slice(0, equals));
    const value = equals === -1 ? '' : decodeQueryComponent(part.slice(equals + 1));
    const before = query[name];
    if (before === undefined) query[name] = value;
    else if (typeof before === 'string') query[name] = [before, value];
    else before.push(value);
  }
  return query;
}
