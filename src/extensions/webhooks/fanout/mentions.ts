import { isId } from '../../../platform/ids.ts';
import type { OutgoingEvent } from './outgoing-event.ts';

type Data = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the values of an object that are ids. */
const idsIn = (object: Data): string[] =>
  Object.values(object).filter((value) => typeof value === 'string' && isId(value)) as string[];

/**
 * Returns the ids by which an erasure finds a delivery. For a record event: the record, its owner, each expanded record, and the ids in
 * expanded records, because the receiver may see their owner. For an event of the app: the user for whom it was published. An erasure
 * checks each delivery that it finds, so superfluous ids do no harm.
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
