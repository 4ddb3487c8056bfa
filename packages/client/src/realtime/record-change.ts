import { encodeWhere, type Where } from '../records/list-query.ts';
import { encodeQuery, encodeSegment } from '../request/query-string.ts';
import type { ServerSentEvent } from './event-parser.ts';

/** A change of a record, as the viewer may see it. */
export interface RecordChange<Data = Readonly<Record<string, unknown>>> {
  /** `left`: after an update, the record is no longer visible, or no longer meets the filters. */
  readonly type: 'created' | 'updated' | 'left' | 'deleted' | 'restored';
  /** The id of the record. */
  readonly id: string;
  /** The record; of a deleted one, its last state. Undefined for `left`, and for a record whose data was erased. */
  readonly data: Data | undefined;
  /** The record before an update, if it was visible and met the filters before. */
  readonly previous: Data | undefined;
  /** When the record changed, as ISO 8601. */
  readonly at: string;
  /** The id of the event. */
  readonly event: string;
}

/** @deprecated Use `RecordChange`. */
export type RecordEvent<Data = Readonly<Record<string, unknown>>> = RecordChange<Data>;

/**
 * Why events may be missing, so that data must be loaded again. `missed`: the connection was lost for too long, or the server has dropped
 * events. `access_changed`: the rights of the user have changed. `session_changed`: another user is signed in, or none.
 */
export type ResetReason = 'missed' | 'access_changed' | 'session_changed';

/** The records to which a client subscribes: those that a list with these filters returns, or one record. */
export interface RecordSubscription {
  where?: Where | undefined;
  /** The id of the record, for a subscription to one record. */
  id?: string | undefined;
}

/**
 * The text of a subscription, as the server expects it: `/posts?status=published`.
 *
 * @param path the path of the resource: `/posts`
 * @throws TypeError for a filter or an id that cannot be sent
 */
export function subscriptionText(path: string, { where, id }: RecordSubscription): string {
  const record = id === undefined ? '' : `/${encodeSegment(id, 'The id')}`;
  return path + record + encodeQuery(encodeWhere(where));
}

const TYPES: ReadonlySet<string> = new Set(['created', 'updated', 'left', 'deleted', 'restored']);

/** A parsed event and its subscription. */
export interface AddressedEvent {
  subscription: string;
  event: RecordChange;
}

/**
 * Parses an event about a record. Returns undefined for an event of another kind, which a newer server may send.
 *
 * @throws SyntaxError for malformed JSON; TypeError for an event without its members
 */
export function parseRecordEvent({ event: name, data: text }: ServerSentEvent): AddressedEvent | undefined {
  const type = name.slice(name.lastIndexOf('.') + 1);
  if (!TYPES.has(type)) return undefined;
  const { subscription, event, at, id, data, previous } = JSON.parse(text);
  if (typeof subscription !== 'string' || typeof id !== 'string' || typeof event !== 'string')
    throw new TypeError(`The event "${name}" lacks its subscription or id`);
  return { subscription, event: { type: type as RecordChange['type'], id, data, previous, at, event } };
}
