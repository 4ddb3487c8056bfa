import type { IncomingMessage } from 'node:http';
import {
  createNoRoomError,
  getAvailableResponseBytes,
  reserveResponseBytes,
} from '../../platform/http/pending-responses.ts';
import type { FittingPage, MeasuredPage } from '../query/sql/within-bytes.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTED = 0x20;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what JSON escapes
const ESCAPED = /[\u0000-\u001f"\\]/;
// Control characters with an escape of two bytes: \b, \t, \n, \f and \r. The others take six bytes: \u0001.
const SHORT_ESCAPES = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d]);

function countJsonStringBytes(text: string): number {
  let bytes = Buffer.byteLength(text) + 2;
  if (!ESCAPED.test(text)) return bytes;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < FIRST_PRINTED) bytes += SHORT_ESCAPES.has(code) ? 1 : 5;
    else if (code === QUOTE || code === BACKSLASH) bytes += 1;
  }
  return bytes;
}

/** Counts the bytes of a record's value as JSON in UTF-8, including escapes, without writing the JSON, which may be megabytes. */
export function countJsonBytes(value: unknown): number {
  if (typeof value === 'string') return countJsonStringBytes(value);
  if (typeof value !== 'object' || value === null) return String(value).length;
  let bytes = 2;
  if (Array.isArray(value)) for (const item of value) bytes += 1 + countJsonBytes(item);
  else for (const [key, item] of Object.entries(value)) bytes += 2 + countJsonStringBytes(key) + countJsonBytes(item);
  return bytes;
}

// A control character takes one byte in Postgres and six in JSON. No other value grows more.
const MAX_GROWTH = 6;

/** The first records of a page whose JSON fits into `bytes`; always at least one. */
function limitToJsonBytes<T>(page: MeasuredPage<T>, bytes: number): FittingPage<T> {
  const { records } = page;
  if (page.bytes * MAX_GROWTH <= bytes) return page;
  let left = bytes;
  const fitting = records.findIndex((record, i) => {
    left -= countJsonBytes(record);
    return left < 0 && i > 0;
  });
  return fitting === -1 ? page : { records: records.slice(0, fitting), isCut: true };
}

/**
 * Reads as many records of a page as fit into the response to a request, and reserves their bytes.
 *
 * @param bytes the maximum bytes of the records as JSON
 * @param read reads the page; it calls `room` for the maximum bytes only when the read is sent
 * @throws ApiError UNAVAILABLE if there is no room for the page
 */
export async function readPageWithinResponseRoom<T>(
  req: IncomingMessage | undefined,
  bytes: number,
  read: (room: () => number) => Promise<MeasuredPage<T>>,
): Promise<FittingPage<T>> {
  // Read at most as many bytes as the response has room for.
  let room = bytes;
  const page = await read(() => {
    room = Math.min(bytes, getAvailableResponseBytes(req));
    return room;
  });
  if (room < bytes && page.isCut) throw createNoRoomError();
  reserveResponseBytes(req, page.bytes);
  return limitToJsonBytes(page, bytes);
}
