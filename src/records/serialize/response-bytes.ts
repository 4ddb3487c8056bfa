import type { IncomingMessage } from 'node:http';
import { noResponseRoom, reserveResponseBytes, responseRoom } from '../../platform/http/pending-responses.ts';

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

/** The first records of a page, as far as they have room. */
export interface Fitting<T> {
  records: T[];
  /** Whether some were left out for want of room. */
  isCut: boolean;
}

/** The same with their bytes as Postgres holds them. */
export interface Measured<T> extends Fitting<T> {
  bytes: number;
}

// A control character is one byte in Postgres and six in JSON. No other value grows more.
const MAX_GROWTH = 6;

/** As many of the first records as have room as JSON; the first always. */
function withinJson<T>(page: Measured<T>, bytes: number): Fitting<T> {
  const { records } = page;
  if (page.bytes * MAX_GROWTH <= bytes) return page;
  let left = bytes;
  const fitting = records.findIndex((record, i) => {
    left -= jsonBytes(record);
    return left < 0 && i > 0;
  });
  return fitting === -1 ? page : { records: records.slice(0, fitting), isCut: true };
}

/**
 * Reads a page for the answer to a request, as far as its records have room, and reserves their bytes.
 *
 * @param bytes what the records may have as JSON
 * @param read reads the page; it asks for the bytes that it may read only when the read is sent
 * @throws ApiError UNAVAILABLE when there is no room for what the page holds
 */
export async function readWithinRoom<T>(
  req: IncomingMessage | undefined,
  bytes: number,
  read: (room: () => number) => Promise<Measured<T>>,
): Promise<Fitting<T>> {
  // What would be refused is not even read.
  let room = bytes;
  const page = await read(() => {
    room = Math.min(bytes, responseRoom(req));
    return room;
  });
  if (room < bytes && page.isCut) throw noResponseRoom();
  reserveResponseBytes(req, page.bytes);
  return withinJson(page, bytes);
}
