import type { ResourceView, StoredRecord } from '../../declare/host.ts';
import type { RecordAction } from '../../declare/record-event.ts';
import type { OutboxRow } from '../../platform/outbox/table.ts';

/** The Redis stream through which events go from relays to the processes that hold streams open. */
export function streamKey(prefix: string): string {
  return `${prefix}:realtime`;
}

/**
 * What stands in an entry of the Redis stream, by the name of its one field: an event; `tick`: nothing, it only moves the end on;
 * `lost`: events were dropped here.
 */
export const FIELDS = { event: 'e', tick: 't', lost: 'x' } as const;

/** An entry as it came from Redis. */
export interface Entry {
  /** Redis' own: ms, a dash, a number. It is the id of server-sent events, too. */
  id: string;
  field: string;
  text: string;
}

/** A change of a record. */
export interface RecordChange {
  /** The entry's. */
  id: string;
  /** Of the event: the same when it comes twice. */
  eventId: string;
  /** ISO 8601. */
  at: string;
  action: RecordAction;
  view: ResourceView;
  record: StoredRecord;
  /** Before an update. */
  previous: StoredRecord | undefined;
}

type Columns = Record<string, unknown>;
type Packed = [eventId: string, name: string, resource: string, at: string, record: Columns, previous: Columns | null];

/** A change as text: columns as they are stored, so that what is encrypted stays so. */
export function packEvent({ eventId, name, resource, createdAt, payload }: OutboxRow): string {
  const { record, previous = null } = payload as { record: Columns; previous?: Columns };
  return JSON.stringify([eventId, name, resource!, createdAt, record, previous] satisfies Packed);
}

/** Reads an entry; undefined when it tells of no resource that there is. */
export function unpackEvent({ id, text }: Entry, views: ReadonlyMap<string, ResourceView>): RecordChange | undefined {
  const [eventId, name, resource, at, record, previous] = JSON.parse(text) as Packed;
  const view = views.get(resource);
  return (
    view && {
      id,
      eventId,
      at,
      action: name.slice(name.lastIndexOf('.') + 1) as RecordAction,
      view,
      record: view.fromOutbox(record),
      previous: previous === null ? undefined : view.fromOutbox(previous),
    }
  );
}

/** As many of the first entries as have so many bytes together, or the first one alone. */
export function firstOf(entries: readonly Entry[], bytes: number): readonly Entry[] {
  let sum = 0;
  const end = entries.findIndex(({ text }, i) => {
    sum += Buffer.byteLength(text);
    return i > 0 && sum > bytes;
  });
  return end < 0 ? entries : entries.slice(0, end);
}

const ID = /^(\d{1,15})-(\d{1,15})$/;

/** Whether `text` has the form of an entry's id. */
export function isEntryId(text: string): boolean {
  return ID.test(text);
}

/** Whether the entry `a` comes before the entry `b`. */
export function isBefore(a: string, b: string): boolean {
  const [, ms, count] = ID.exec(a)!.map(Number);
  const [, otherMs, otherCount] = ID.exec(b)!.map(Number);
  return ms! < otherMs! || (ms === otherMs && count! < otherCount!);
}
