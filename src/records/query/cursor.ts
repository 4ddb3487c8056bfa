import { hash } from 'node:crypto';
import type { StoredRecord } from '../../declare/host.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { fieldTypeOf } from '../fields/field-type.ts';
import type { CompiledResource, SortTerm } from '../schema/compiled.ts';
import { findFieldSpec } from './comparison.ts';
import type { ListQuery, Position } from './list-query.ts';
import { queryError } from './parameter.ts';

const CHECKSUM_BYTES = 9;
// Maximum characters of the values in a cursor: enough for several values of indexed fields. For longer values, the cursor names its record
// instead.
const MAX_PAYLOAD_LENGTH = 4096;
const MAX_CURSOR_LENGTH = 16_384;
const BASE64URL = /^[A-Za-z0-9_-]+$/;
const READ_TIME = /\.([0-9a-z]{1,10})$/;

/**
 * A checksum that ties a cursor to its resource and order, and shows that it arrived complete. The checksum is not a signature: a forged
 * cursor reveals nothing, because cursors contain only values that the viewer can see anyway.
 */
function computeChecksum(resource: CompiledResource, sort: readonly SortTerm[], payload: string): Buffer {
  const order = sort.map((term) => (term.descending ? '-' : '') + term.field).join(',');
  return hash('sha256', `1 ${resource.name} ${order} ${payload}`, 'buffer').subarray(0, CHECKSUM_BYTES);
}

/**
 * The cursor after a record of a sorted list. It carries the values of the sort terms, so the list can continue from there even if the
 * record is deleted. If some viewers may not see the values, or the values are too long, the cursor carries only the record's id.
 */
export function createCursorAfter(
  resource: CompiledResource,
  { sort, cursorCarriesValues }: Pick<ListQuery, 'sort' | 'cursorCarriesValues'>,
  record: StoredRecord,
): string {
  const byRecord = JSON.stringify(record.id);
  const byValue = cursorCarriesValues ? JSON.stringify(sort.map((term) => record[term.field] ?? null)) : byRecord;
  const payload = byValue.length > MAX_PAYLOAD_LENGTH ? byRecord : byValue;
  return Buffer.concat([computeChecksum(resource, sort, payload), Buffer.from(payload)]).toString('base64url');
}

/** Adds to a cursor the time at which its page was read, in ms since 1970. The position of the cursor stays the same. */
export function addReadTime(cursor: string, time: number): string {
  return `${cursor}.${Math.ceil(time).toString(36)}`;
}

/** The time at which the page of a cursor was read; undefined if the cursor does not say. */
export function parseReadTime(after: unknown): number | undefined {
  const time = typeof after === 'string' ? READ_TIME.exec(after)?.[1] : undefined;
  return time === undefined ? undefined : Number.parseInt(time, 36);
}

function parseJsonOrUndefined(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return undefined;
  }
}

/** The value of a sort term as records hold it; undefined for a value of the wrong type. */
function parseTermValue(resource: CompiledResource, { field }: SortTerm, value: unknown): unknown {
  if (value === null) return resource.field.has(field) ? null : undefined;
  const spec = findFieldSpec(resource, field)!;
  return fieldTypeOf(spec).comparable?.(value, spec);
}

function decodeCursor(
  resource: CompiledResource,
  sort: readonly SortTerm[],
  cursorCarriesValues: boolean,
  given: string,
) {
  const text = given.replace(READ_TIME, '');
  if (text.length > MAX_CURSOR_LENGTH || !BASE64URL.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  const payload = bytes.toString('utf8', CHECKSUM_BYTES);
  if (!computeChecksum(resource, sort, payload).equals(bytes.subarray(0, CHECKSUM_BYTES))) return undefined;
  const content = parseJsonOrUndefined(payload);
  if (typeof content === 'string') return isId(content) ? { record: content } : undefined;
  if (!cursorCarriesValues || !Array.isArray(content) || content.length !== sort.length) return undefined;
  const values = sort.map((term, i) => parseTermValue(resource, term, content[i]));
  return values.includes(undefined) ? undefined : values;
}

/**
 * Parses `after`.
 *
 * @param cursorCarriesValues whether this viewer's cursors may carry values
 * @throws ApiError BAD_REQUEST for anything but a cursor of this resource and order
 */
export function parseCursor(
  resource: CompiledResource,
  { sort, cursorCarriesValues }: Pick<ListQuery, 'sort' | 'cursorCarriesValues'>,
  text: string,
): Position | { record: string } {
  const cursor = decodeCursor(resource, sort, cursorCarriesValues, text);
  if (cursor !== undefined) return cursor;
  throw queryError(
    'The query parameter "after" must be the "meta.next" of a list of this resource with the same "sort"',
  );
}
