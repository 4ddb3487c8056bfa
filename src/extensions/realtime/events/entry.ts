import type { RecordAction } from '../../../declare/events.ts';
import type { Fields } from '../../../declare/field.ts';
import type { ResourceGateway, StoredRecord } from '../../../declare/host.ts';
import { snakeCase } from '../../../declare/naming.ts';
import type { OutboxRow } from '../../../platform/outbox/table.ts';
import { fieldTypeOf } from '../../../records/fields/field-type.ts';

/** Returns the key of the Redis stream that carries events from relays to the processes with open streams. */
export function streamKey(prefix: string): string {
  return `${prefix}:realtime`;
}

/**
 * The kinds of entries in the Redis stream, by the name of their only field. `tick`: empty, it only advances the stream. `lost`:
 * events were dropped here. `erased`: an erasure removed earlier entries.
 */
export const ENTRY_FIELDS = { event: 'e', tick: 't', lost: 'x', erased: 'd' } as const;

/**
 * Returns the key of a sorted set with one member, `gap`. Its score is the position of the newest entry that an erasure removed
 * without a later event that replaces it. A stream that resumes from an older entry is reset.
 */
export function gapKey(prefix: string): string {
  return `${streamKey(prefix)}:gap`;
}

/** An entry of the Redis stream. */
export interface Entry {
  /** The id in Redis: ms, a dash, a number. Server-sent events use the same id. */
  id: string;
  field: string;
  text: string;
}

/** A change of a record. */
export interface RecordChange {
  /** The id of the entry. */
  id: string;
  /** The id of the event; the same if the event arrives twice. */
  eventId: string;
  /** ISO 8601. */
  at: string;
  action: RecordAction;
  gateway: ResourceGateway;
  record: StoredRecord;
  /** The record before an update. */
  previous: StoredRecord | undefined;
  /** Fields whose values an erasure removed from the record before the update or deletion. */
  erasedFields: ReadonlySet<string>;
  /** Whether an erasure made the change. */
  byErasure: boolean;
  /** Whether to send only the id of a deletion. */
  idOnly?: boolean;
}

/** Returns the record before an update or deletion. */
export function recordBeforeChange({ action, record, previous }: RecordChange): StoredRecord | undefined {
  return action === 'deleted' ? record : previous;
}

type Columns = Record<string, unknown>;
/** A change as it is stored in an entry. */
export type PackedEvent = [
  eventId: string,
  name: string,
  resource: string,
  at: string,
  record: Columns,
  previous: Columns | null,
  byErasure?: true,
];

/** Converts a change to text. Columns stay as stored, so encrypted values stay encrypted. */
export function packEvent({ eventId, name, resource, createdAt, payload }: OutboxRow): string {
  const { record, previous = null, erased } = payload as { record: Columns; previous?: Columns; erased?: true };
  const packed: PackedEvent = [eventId, name, resource!, createdAt, record, previous];
  if (erased) packed.push(true);
  return JSON.stringify(packed);
}

const NO_FIELDS: ReadonlySet<string> = new Set();

type FieldColumn = readonly [field: string, column: string];
// Cached, because thousands of events arrive each second and resources never change.
const columnsByResource = new WeakMap<ResourceGateway, readonly FieldColumn[]>();

/** Returns the fields in a resource's events with their columns. Password fields are never in events. */
function fieldColumnsOf(gateway: ResourceGateway): readonly FieldColumn[] {
  let columns = columnsByResource.get(gateway);
  if (columns === undefined) {
    const fields = Object.entries(gateway.declaration.fields as Fields).filter(
      ([, { spec }]) => !fieldTypeOf(spec).concealed,
    );
    columns = fields.map(([name]) => [name, snakeCase(name)]);
    columnsByResource.set(gateway, columns);
  }
  return columns;
}

/** Returns the fields that are absent from an event (not even null). */
function findMissingFields(gateway: ResourceGateway, columns: Columns | null): ReadonlySet<string> {
  if (columns === null) return NO_FIELDS;
  const names = fieldColumnsOf(gateway).filter(([, column]) => !Object.hasOwn(columns, column));
  return names.length === 0 ? NO_FIELDS : new Set(names.map(([name]) => name));
}

/**
 * Returns the erased fields of the record before the change. If the new state of an update has erased fields, the result is empty,
 * because the erasure emits an event of its own for the record.
 */
function findErasedFields(gateway: ResourceGateway, action: RecordAction, record: Columns, previous: Columns | null) {
  const missingNow = findMissingFields(gateway, record);
  if (action === 'deleted') return missingNow;
  return missingNow.size === 0 ? findMissingFields(gateway, previous) : NO_FIELDS;
}

/** Parses an entry; returns undefined if its resource does not exist. */
export function unpackEvent(
  { id, text }: Entry,
  gateways: ReadonlyMap<string, ResourceGateway>,
): RecordChange | undefined {
  const [eventId, name, resource, at, record, previous, byErasure = false] = JSON.parse(text) as PackedEvent;
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
    erasedFields: findErasedFields(gateway, action, record, previous),
    byErasure,
  };
}

/** Returns the first entries up to a total size in bytes, but at least one. */
export function takeWithinBytes(entries: readonly Entry[], bytes: number): readonly Entry[] {
  let sum = 0;
  const end = entries.findIndex(({ text }, i) => {
    sum += Buffer.byteLength(text);
    return i > 0 && sum > bytes;
  });
  return end < 0 ? entries : entries.slice(0, end);
}

const ID = /^(\d{1,15})-(\d{1,15})$/;

/** Returns whether `text` has the format of an entry id. */
export function isEntryId(text: string): boolean {
  return ID.test(text);
}

/** Returns the position of an entry as a number that a sorted set stores exactly. Entries after the 999th of a ms share one. */
export function positionOf(id: string): number {
  const [, ms, count] = ID.exec(id)!.map(Number);
  return ms! * 1000 + Math.min(count!, 999);
}

/** Returns whether the stream entry with the id `a` comes before the one with the id `b`. */
export function isBefore(a: string, b: string): boolean {
  const [, ms, count] = ID.exec(a)!.map(Number);
  const [, otherMs, otherCount] = ID.exec(b)!.map(Number);
  return ms! < otherMs! || (ms === otherMs && count! < otherCount!);
}
