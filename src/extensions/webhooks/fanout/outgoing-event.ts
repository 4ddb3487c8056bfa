import type { ResourceGateway, StoredRecord } from '../../../declare/host.ts';
import type { OutboxRow } from '../../../platform/outbox/table.ts';

/**
 * The name of the outbox rows that are this extension's own: events that the app published, and the rest of any event that has
 * more endpoints than one transaction takes. What the event itself is called stands in the payload.
 */
export const OWN_ROW = 'webhooks.event';

interface Outgoing {
  id: string;
  /** `post.created`, `invoice.paid`, … */
  name: string;
  /** ISO 8601. */
  at: string;
  /** Endpoints up to this id have it already; empty: none. */
  after: string;
  /** Its place among all events: the id of the outbox row that it came with. */
  position: number;
}

/** A change of a record, on its way to endpoints. */
export interface RecordEvent extends Outgoing {
  gateway: ResourceGateway;
  record: StoredRecord;
  /** The record as it stands in the outbox. */
  stored: Record<string, unknown>;
}

/** An event that the app published, on its way to endpoints. */
export interface PublishedEvent extends Outgoing {
  gateway: undefined;
  /** The user whose own endpoints get it; null: global ones only. */
  owner: string | null;
  /** JSON, as it is sent. */
  data: string;
}

/** An event on its way to endpoints. */
export type OutgoingEvent = RecordEvent | PublishedEvent;

/** An outbox row of the extension's own. */
export type OwnPayload = { name: string; after?: string; position?: number } & (
  | { record: Record<string, unknown> }
  | { data: string; owner: string | null }
);

/** Reads an outbox row: a change of a record of `views`, or a row of the extension's own. */
export function readOutgoing(row: OutboxRow, gateways: ReadonlyMap<string, ResourceGateway>): OutgoingEvent {
  const own = row.name === OWN_ROW ? (row.payload as OwnPayload) : undefined;
  const common = {
    id: row.eventId,
    name: own?.name ?? row.name,
    at: row.createdAt,
    after: own?.after ?? '',
    position: own?.position ?? row.id,
  };
  if (own !== undefined && 'data' in own) return { ...common, gateway: undefined, owner: own.owner, data: own.data };
  const gateway = gateways.get(row.resource!)!;
  const stored = row.payload.record as Record<string, unknown>;
  return { ...common, gateway, stored, record: gateway.fromOutbox(stored) };
}
