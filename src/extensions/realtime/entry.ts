import type { RecordAction } from '../../declare/events.ts';
import type { Fields } from '../../declare/field.ts';
import type { ResourceGateway, StoredRecord } from '../../declare/host.ts';
import { snakeCase } from '../../declare/naming.ts';
import type { OutboxRow } from '../../platform/outbox/table.ts';
import { fieldTypeOf } from '../../records/fields/field-type.ts';

/** The Redis stream through which events go from relays to the processes that hold streams open. */
export function streamKey(prefix: string): string {
  return `${prefix}:realtime`;
}

/**
 * What stands in an entry of the Redis stream, by the name of its one field: an event; `tick`: nothing, it only moves the end on;
 * `lost`: events were dropped here; `erased`: entries before it were removed by an erasure.
 */
export const FIELDS = { event: 'e', tick: 't', lost: 'x', erased: 'd' } as const;

/**
 * A sorted set with one member, `gap`. Its score is the place of the newest entry that an erasure removed without a later event that
 * replaces it. A stream that resumes from an older entry is reset.
 */
export function gapKey(prefix: string): string {
  return `${streamKey(prefix)}:gap`;
}

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
  gateway: ResourceGateway;
  record: StoredRecord;
  /** Before an update. */
  previous: StoredRecord | undefined;
  /** Fields whose values an erasure took out of the record as it was before an update, or when it was deleted. */
  untold: ReadonlySet<string>;
  /** An erasure made the change. */
  byErasure: boolean;
  /** A deletion of which only the id is sent. */
  idOnly?: boolean;
}

/** The record as it was before an update, or when it was deleted. */
export function asItWas({ action, record, previous }: RecordChange): StoredRecord | undefined {
  return action === 'deleted' ? record : previous;
}

type Columns = Record<string, unknown>;
/** A change as it is stored in an entry. */
export type Packed = [
  eventId: string,
  name: string,
  resource: string,
  at: string,
  record: Columns,
  previous: Columns | null,
  byErasure?: true,
];

/** A change as text: columns as they are stored, so that what is encrypted stays so. */
export function packEvent({ eventId, name, resource, createdAt, payload }: OutboxRow): string {
  const { record, previous = null, erased } = payload as { record: Columns; previous?: Columns; erased?: true };
  const packed: Packed = [eventId, name, resource!, createdAt, record, previous];
  if (erased) packed.push(true);
  return JSON.stringify(packed);
}

const NOTHING: ReadonlySet<string> = new Set();

type Place = readonly [field: string, column: string];
// Events come in thousands a second, resources never change.
const places = new WeakMap<ResourceGateway, readonly Place[]>();

/** The fields of a resource that its events tell, with their columns: passwords are in none. */
function placesOf(gateway: ResourceGateway): readonly Place[] {
  let known = places.get(gateway);
  if (known === undefined) {
    const fields = Object.entries(gateway.declaration.fields as Fields).filter(
      ([, { spec }]) => !fieldTypeOf(spec).concealed,
    );
    known = fields.map(([name]) => [name, snakeCase(name)]);
    places.set(gateway, known);
  }
  return known;
}

/** What is not in an event, not even as null. */
function missing(gateway: ResourceGateway, columns: Columns | null): ReadonlySet<string> {
  if (columns === null) return NOTHING;
  const names = placesOf(gateway).filter(([, column]) => !Object.hasOwn(columns, column));
  return names.length === 0 ? NOTHING : new Set(names.map(([name]) => name));
}

/** Of an update that waited while an account was erased nobody knows what it led to; but the erasure tells of the record itself. */
function untoldIn(gateway: ResourceGateway, action: RecordAction, record: Columns, previous: Columns | null) {
  const unknown = missing(gateway, record);
  if (action === 'deleted') return unknown;
  return unknown.size === 0 ? missing(gateway, previous) : NOTHING;
}

/** Reads an entry; undefined when it tells of no resource that there is. */
export function unpackEvent(
  { id, text }: Entry,
  gateways: ReadonlyMap<string, ResourceGateway>,
): RecordChange | undefined {
  const [eventId, name, resource, at, record, previous, byErasure = false] = JSON.parse(text) as Packed;
  const gateway = gateways.get(resource);
  if (gateway === undefined) return undefined;
  const action = name.slice(name.lastIndexOf('.') + 1) as RecordAction;
  return {
    id,
    eventId,
    at,
    action,
    gateway,
    record: gateway.fromOutbox(record),
    previous: previous === null ? undefined : gateway.fromOutbox(previous),
    untold: untoldIn(gateway, action, record, previous),
    byErasure,
  };
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

/** The place of an entry as a number that a sorted set holds exactly. Entries after the 999th of a millisecond share a place. */
export function placeOf(id: string): number {
  const [, ms, count] = ID.exec(id)!.map(Number);
  return ms! * 1000 + Math.min(count!, 999);
}

/** Whether the entry `a` comes before the entry `b`. */
export function isBefore(a: string, b: string): boolean {
  const [, ms, count] = ID.exec(a)!.map(Number);
  const [, otherMs, otherCount] = ID.exec(b)!.map(Number);
  return ms! < otherMs! || (ms === otherMs && count! < otherCount!);
}
