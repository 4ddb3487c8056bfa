import { isId } from '../../../platform/ids.ts';
import type { OutgoingEvent } from './outgoing-event.ts';

type Data = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The ids among the direct values of an object: its own, and those of the records to which it refers. */
const idsIn = (object: Data): string[] =>
  Object.values(object).filter((value) => typeof value === 'string' && isId(value)) as string[];

/**
 * Returns the ids of the users and records that the message of a record event may be about: the record and its owner, and the records
 * that are expanded in it, with the ids in them, among which are their owners. An erasure searches by these ids and then checks each
 * delivery that it finds, so too many ids cost only time.
 *
 * @param data the record as serialized for the owner of an endpoint
 */
export function collectMentions(event: OutgoingEvent, data: Data | undefined): string[] {
  if (event.gateway === undefined) return event.owner === null ? [] : [event.owner];
  const owner = event.gateway.ownerOf(event.record);
  const expanded = Object.values(data ?? {})
    .flat()
    .filter(isObject);
  return [...new Set([event.record.id, ...(owner === undefined ? [] : [owner]), ...expanded.flatMap(idsIn)])];
}
