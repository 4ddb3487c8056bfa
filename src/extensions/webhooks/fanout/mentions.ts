import { isId } from '../../../platform/ids.ts';
import type { OutgoingEvent } from './outgoing-event.ts';

type Data = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the values of an object that are ids. */
const idsIn = (object: Data): string[] =>
  Object.values(object).filter((value) => typeof value === 'string' && isId(value)) as string[];

/**
 * Returns the ids by which an erasure finds a delivery: the fields of its data that are ids, the same fields of objects directly inside it
 * (such as expanded records), and the owner of the record, or the user for whom the app published the event. Other ids inside arrays are not
 * collected. An erasure checks every delivery that it finds, so extra ids do no harm.
 *
 * @param data the data as sent to the owner of an endpoint
 */
export function collectMentions(event: OutgoingEvent, data: unknown): string[] {
  const owner = event.gateway === undefined ? event.owner : event.gateway.ownerOf(event.record);
  const values = isObject(data) ? Object.values(data) : [data];
  const objects = [data, ...values.flat()].filter(isObject);
  return [...new Set([...(owner ? [owner] : []), ...objects.flatMap(idsIn)])];
}
