import {
  createNoRoomError,
  getAvailableResponseBytes,
  reserveResponseBytes,
} from '../../platform/http/pending-responses.ts';
import type { ResolvedViewContext } from '../access/operation-context.ts';
import type { Includes } from '../query/list-query.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import type { SerializedRecord } from './serialize-fields.ts';

/** The remaining budget for expanded records in one response. References beyond it stay ids. */
export interface Budget {
  /** Array items that may still be expanded. */
  items: number;
  /** JSON bytes that expanded records may still take. */
  bytes: number;
  /** Whether the budget left a reference unexpanded. */
  exceeded: boolean;
}

/** Whether the budget of bytes is used up. No more records are then read. */
export function isByteBudgetSpent({ bytes }: Budget): boolean {
  return bytes <= 0;
}

/** Serialized records of one resource, and which of their references to expand. */
export interface ExpansionLevel {
  resource: CompiledResource;
  includes: Includes;
  /** Each record, with the number of times that it appears in the response. */
  places: ReadonlyMap<SerializedRecord, number>;
}

/** The byte budget of the records that one level reads. */
export interface LevelBytes {
  /** The approximate maximum for each reference field. */
  max: number;
  /** The bytes reserved in the response so far. */
  reserved: number;
}

/** Reads as many records as the response has room for, and reserves their bytes before they are processed. */
export async function readAndReserveBytes<Page extends { bytes: number }>(
  read: (bytes: () => number) => Promise<Page>,
  level: LevelBytes,
  { req }: Pick<ResolvedViewContext, 'req'>,
): Promise<Page> {
  let room = level.max;
  const page = await read(() => {
    room = Math.min(level.max, getAvailableResponseBytes(req));
    return room;
  });
  const { bytes } = page;
  // Some records did not fit. Their ids must not stay in the response, as if the viewer may not see the records.
  if (room < level.max && bytes >= room) throw createNoRoomError();
  reserveResponseBytes(req, bytes);
  level.reserved += bytes;
  return page;
}
