import { z } from 'zod';
import { findListError, findNameError, findValueError, type HeaderList, MAX_HEADERS } from '../endpoints/headers.ts';

/** Changes of headers: names with the new value, or null to remove the header. */
export type HeaderChanges = readonly (readonly [name: string, value: string | null])[];

/** A request may name every header that it removes besides those that it sets. */
const MAX_NAMED = 2 * MAX_HEADERS;

const EXAMPLE = { 'X-Api-Key': '3f1c9b6a20d84e57' };

/** Names in `details` are cut to this length: a client may send a long one. */
const MAX_NAME_IN_ERROR = 64;

const isObject = (input: unknown): input is object =>
  typeof input === 'object' && input !== null && !Array.isArray(input);

/**
 * Reads an object of headers. The result is a list, because an object could not have every name.
 *
 * @param allowNull whether null removes a header
 * @param report called with each error: its path, and the message
 */
function readHeaders(
  input: unknown,
  allowNull: boolean,
  report: (path: string[], message: string) => void,
): HeaderChanges {
  if (!isObject(input)) {
    report([], 'Must be an object of header names and values');
    return [];
  }
  const entries = Object.entries(input) as [string, unknown][];
  if (entries.length > MAX_NAMED) {
    report([], `Must be at most ${MAX_HEADERS} headers`);
    return [];
  }
  const seen = new Set<string>();
  const headers: [string, string | null][] = [];
  for (const [name, value] of entries) {
    const isRemoved = value === null && allowNull;
    const isRepeated = seen.has(name.toLowerCase());
    seen.add(name.toLowerCase());
    const error =
      findNameError(name) ??
      (isRepeated ? 'Must be given once: names of headers are case-insensitive' : undefined) ??
      (isRemoved ? undefined : findValueError(value));
    if (error !== undefined) report([name.slice(0, MAX_NAME_IN_ERROR)], error);
    else headers.push([name, isRemoved ? null : (value as string).trim()]);
  }
  const listError = findListError(headers.filter((header): header is [string, string] => header[1] !== null));
  if (listError !== undefined) report([], listError);
  return headers;
}

/** @param allowNull see `readHeaders` @param description what the field does, for the OpenAPI document */
function createSchema<List extends HeaderChanges>(allowNull: boolean, description: string) {
  const additionalProperties = { type: allowNull ? ['string', 'null'] : 'string' };
  return z
    .unknown()
    .meta({
      type: ['object', 'null'],
      additionalProperties,
      maxProperties: allowNull ? MAX_NAMED : MAX_HEADERS,
      description,
      examples: [EXAMPLE],
    })
    .transform((input, context): List | null => {
      if (input === null) return null;
      const headers = readHeaders(input, allowNull, (path, message) => {
        // Omit `input`: it has secrets.
        context.issues.push({ code: 'custom', path, message } as z.core.$ZodRawIssue);
      });
      return headers as unknown as List;
    });
}

/** The schema of `headers` in a request that creates an endpoint. */
export const newHeadersSchema = createSchema<HeaderList>(
  false,
  'Up to 10 headers to send with every message. Responses show their values masked.',
);

/** The schema of `headers` in a request that changes an endpoint. */
export const headerChangesSchema = createSchema<HeaderChanges>(
  true,
  'Sets or, with null, removes the named headers; others stay. null: removes all. Must name all headers if `url` changes to another origin.',
);
