import { isDeepStrictEqual } from 'node:util';
import type { OutboxRow, ResourceGateway, StoredRecord } from '../../../../extension/index.ts';

/**
 * The name of this extension's own outbox rows: events that the app published, and the rest of any event that has more endpoints than one
 * transaction handles. The payload contains the name of the event itself.
 */
export const OWN_ROW_NAME = 'webhooks.event';

interface Outgoing {
  id: string;
  /** `post.created`, `invoice.paid`, … */
  name: string;
  /** When the event happened, as ISO 8601. */
  at: string;
  /** The id of the last endpoint that the fan-out has handled for this event; empty before the first. */
  after: string;
  /** The position of the event among all events: the id of the event's first outbox row. */
  position: number;
  /** The `traceparent` that the deliveries continue; null if no trace is recorded. */
  trace: string | null;
}

/** A change of a record, to be delivered to endpoints. */
export interface RecordEvent extends Outgoing {
  gateway: ResourceGateway;
  record: StoredRecord;
  /** The record as stored in the outbox. */
  stored: Record<string, unknown>;
  /** Whether the event is an update that changed a field. */
  hasChanged(field: string): boolean;
}

/** An event that the app published, to be delivered to endpoints. */
export interface PublishedEvent extends Outgoing {
  gateway: undefined;
  /** The user or organisation whose own endpoints get the event; null if only global endpoints get it. */
  owner: string | null;
  /** The event's data as JSON, exactly as sent to endpoints. */
  data: string;
}

/** An event to be delivered to endpoints. */
export type OutgoingEvent = RecordEvent | PublishedEvent;

/** The payload of an outbox row with the name `OWN_ROW_NAME`. */
export type OwnPayload = { name: string; after?: string; position?: number } & (
  | { record: Record<string, unknown>; changed?: string[] }
  | { data: string; owner: string | null }
);

/** Returns which fields an update changed, for the payload of the event's next outbox row; undefined for other events. */
export function listChangedFields({ name, gateway, hasChanged }: RecordEvent): string[] | undefined {
  if (!name.endsWith('.updated')) return undefined;
  return Object.keys(gateway.declaration.fields).filter(hasChanged);
}

/**
 * Creates the test whether an event changed a field. The previous record is only read if a filter asks.
 *
 * @param changed the changed fields, if an earlier outbox row has them
 */
function createChangeTest(
  gateway: ResourceGateway,
  record: StoredRecord,
  {
    name,
    previous,
    changed,
  }: { name: string; previous: Record<string, unknown> | undefined; changed: string[] | undefined },
): (field: string) => boolean {
  if (!name.endsWith('.updated')) return () => false;
  if (changed !== undefined) return (field) => changed.includes(field);
  // Written by an earlier version. A delivery too many is better than a lost one.
  if (previous === undefined) return () => true;
  let before: StoredRecord | undefined;
  return (field) => {
    before ??= gateway.fromOutbox(previous);
    return !isDeepStrictEqual(before[field] ?? null, record[field] ?? null);
  };
}

/** Reads an outbox row: a change of a record of one of the `gateways`, or one of the extension's own rows. */
export function readOutgoingEvent(row: OutboxRow, gateways: ReadonlyMap<string, ResourceGateway>): OutgoingEvent {
  const own = row.name === OWN_ROW_NAME ? (row.payload as OwnPayload) : undefined;
  const common = {
    id: row.eventId,
    name: own?.name ?? row.name,
    at: row.createdAt,
    after: own?.after ?? '',
    position: own?.position ?? row.id,
    trace: row.traceContext,
  };
  if (own !== undefined && 'data' in own) return { ...common, gateway: undefined, owner: own.owner, data: own.data };
  const gateway = gateways.get(row.resource!)!;
  const stored = row.payload.record as Record<string, unknown>;
  const record = gateway.fromOutbox(stored);
  const previous = row.payload.previous as Record<string, unknown> | undefined;
  const hasChanged = createChangeTest(gateway, record, { name: common.name, previous, changed: own?.changed });
  return { ...common, gateway, stored, record, hasChanged };
}
