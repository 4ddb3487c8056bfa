import {
  type Fields,
  fieldTypeOf,
  type Host,
  type OutboxRow,
  type RecordAction,
  type ResourceGateway,
  type StoredRecord,
  snakeCase,
} from '../../../extension/index.ts';

/** Returns the key of the Redis stream that carries events from relays to the processes with open streams. */
export function redisStreamKey(prefix: string): string {
  return `${prefix}:realtime`;
}

/**
 * The name of the only field of a Redis stream entry, by kind of entry. `tick`: an empty entry that only advances the position.
 * `lost`: events were dropped at this position. `erased`: an erasure of a user's data removed earlier entries.
 */
export const ENTRY_KIND_FIELDS = { event: 'e', tick: 't', lost: 'x', erased: 'd' } as const;

/**
 * Returns the key of a Redis sorted set whose only member is `gap`. The score of `gap` is the position of the newest entry that an
 * erasure removed without emitting an event that replaces it. A client stream that resumes from an older entry gets a reset.
 */
export function erasureGapKey(prefix: string): string {
  return `${redisStreamKey(prefix)}:gap`;
}

/** An entry of the Redis stream. */
export interface Entry {
  /** The id of the entry in Redis: epoch ms, a dash, a number. The server-sent events made from the entry have the same id. */
  id: string;
  field: string;
  text: string;
}

/** A change of a record, parsed from an entry of the Redis stream. */
export interface RecordChange {
  /** The id of the Redis stream entry that contains the change. */
  id: string;
  /** The id of the event. If a relay adds the same event twice, both entries have this id. */
  eventId: string;
  /** When the record changed, as ISO 8601. */
  at: string;
  action: RecordAction;
  gateway: ResourceGateway;
  record: StoredRecord;
  /** The record before an update. */
  previous: StoredRecord | undefined;
  /** Fields whose values an erasure removed from the record's state before the update or deletion, so filters cannot match them. */
  erasedFields: ReadonlySet<string>;
  /** Whether the erasure of a user's data made the change. */
  byErasure: boolean;
  /** Whether clients get only the id of the deleted record, because its values were erased. */
  idOnly?: boolean;
}

/** Returns the state of the record before an update or deletion; undefined if the change has no earlier state. */
export function recordBeforeChange({ action, record, previous }: RecordChange): StoredRecord | undefined {
  return action === 'deleted' ? record : previous;
}

type Columns = Record<string, unknown>;
/** A change as stored in the text of a Redis stream entry: the JSON of this array. */
export type PackedEvent = [
  eventId: string,
  name: string,
  resource: string,
  at: string,
  record: Columns,
  previous: Columns | null,
  byErasure?: true,
];

/** Converts a change from the outbox to the text of a Redis stream entry. Values of encrypted fields stay encrypted. */
export function packEvent({ eventId, name, resource, createdAt, payload }: OutboxRow): string {
  const { record, previous = null, erased } = payload as { record: Columns; previous?: Columns; erased?: true };
  const packed: PackedEvent = [eventId, name, resource!, createdAt, record, previous];
  if (erased) packed.push(true);
  return JSON.stringify(packed);
}

const NO_FIELDS: ReadonlySet<string> = new Set();

type FieldColumns = readonly [field: string, columns: readonly string[]];
// The columns of each resource are cached, because thousands of events arrive each second and declarations never change.
const columnsByResource = new WeakMap<ResourceGateway, readonly FieldColumns[]>();

/** Returns the fields in a resource's events with their columns, current and former. Password fields are never in events. */
function getFieldColumns(gateway: ResourceGateway): readonly FieldColumns[] {
  let columns = columnsByResource.get(gateway);
  if (columns === undefined) {
    const fields = Object.entries(gateway.declaration.fields as Fields).filter(
      ([, { spec }]) => !fieldTypeOf(spec).concealed,
    );
    columns = fields.map(([name, { spec }]) => [name, [name, ...(spec.renamedFrom ?? [])].map(snakeCase)]);
    columnsByResource.set(gateway, columns);
  }
  return columns;
}

/** Returns the fields of a resource whose columns are absent from an event's record. A column that is null is not absent. */
function findMissingFields(gateway: ResourceGateway, columns: Columns | null): ReadonlySet<string> {
  if (columns === null) return NO_FIELDS;
  const names = getFieldColumns(gateway).filter(([, names]) => !names.some((name) => Object.hasOwn(columns, name)));
  return names.length === 0 ? NO_FIELDS : new Set(names.map(([name]) => name));
}

/**
 * Returns the fields that an erasure removed from the record's state before the change. Returns no fields for an update whose new
 * state lacks erased fields too, because the erasure emits its own event for that record.
 */
function findErasedFields(gateway: ResourceGateway, action: RecordAction, record: Columns, previous: Columns | null) {
  const missingNow = findMissingFields(gateway, record);
  if (action === 'deleted') return missingNow;
  return missingNow.size === 0 ? findMissingFields(gateway, previous) : NO_FIELDS;
}

/** Parses the change in a Redis stream entry. Returns undefined if the app has no resource with the name in the entry. */
function unpackRecordChange(
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

/** Returns the first entries whose texts together have at most `bytes` bytes, but at least one entry. */
export function takeEntriesWithinBytes(entries: readonly Entry[], bytes: number): readonly Entry[] {
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

/** Converts an entry id to a number that a Redis sorted set stores exactly. All entries after the 999th of one ms get the same number. */
export function entryPositionOf(id: string): number {
  const [, ms, count] = ID.exec(id)!.map(Number);
  return ms! * 1000 + Math.min(count!, 999);
}

/** Returns whether the stream entry with the id `a` comes before the one with the id `b`. */
export function isEntryBefore(a: string, b: string): boolean {
  const [, ms, count] = ID.exec(a)!.map(Number);
  const [, otherMs, otherCount] = ID.exec(b)!.map(Number);
  return ms! < otherMs! || (ms === otherMs && count! < otherCount!);
}

/** Parses entries of the Redis stream. `lost` in the result: changes are missing, because they were dropped or cannot be parsed. */
export function parseEntries(
  entries: readonly Entry[],
  gateways: ReadonlyMap<string, ResourceGateway>,
  log: Pick<Host['log'], 'error'>,
): { changes: RecordChange[]; lost: boolean } {
  let lost = false;
  const changes = entries.flatMap((entry) => {
    lost ||= entry.field === ENTRY_KIND_FIELDS.lost;
    if (entry.field !== ENTRY_KIND_FIELDS.event) return [];
    try {
      return unpackRecordChange(entry, gateways) ?? [];
    } catch (error) {
      log.error({ err: error, entry: entry.id }, 'Could not parse a change for open streams');
      lost = true;
      return [];
    }
  });
  return { changes, lost };
}
