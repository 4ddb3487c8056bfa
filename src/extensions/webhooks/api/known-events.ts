import {
  allowsAction,
  gatewaysByName,
  getOrganisationRole,
  type Host,
  isTransient,
  type ResourceGateway,
  type StoredRecord,
  type Viewer,
  viewerThroughRelation,
} from '../../../extension/index.ts';
import { OUTBOX_COLUMNS, type RawOutboxRow, toOutboxRow } from '../../../platform/work/outbox/table.ts';
import { isKeptSql } from '../deliveries/deliveries-sql.ts';
import type { serializeEndpoint } from '../endpoints/endpoint.ts';
import type { EventLog } from '../engine/fanout/event-log.ts';
import { type OutgoingEvent, OWN_ROW_NAME, readOutgoingEvent } from '../engine/fanout/outgoing-event.ts';
import type { FilteredEvent } from '../filters/evaluate.ts';
import { listSentResources, TEST_EVENT } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import type { DeliverySerializer } from './serialize-delivery.ts';

type Endpoint = ReturnType<typeof serializeEndpoint>;

/** A delivery of an event to one of the endpoints of an owner. */
type DeliveredRow = [
  eventId: string,
  endpointId: string,
  scope: 'own' | 'global',
  deliveryId: string,
  name: string,
  createdAt: string,
];

/**
 * Finds the deliveries of an event to the endpoints of an owner. $1 owner, $2 id of the event, or of one of these deliveries. Uses
 * webhook_endpoints_owner_id_index and the indexes by endpoint and event.
 */
function deliveriesOfEventSql(isKept: string): string {
  const deliveriesSql = (condition: string) => `
    select d.id, d.endpoint_id, d.event_id, d.type, d.created_at from webhook_deliveries d where ${condition}
    union all
    select d.id, d.endpoint_id, d.event_id, d.type, d.created_at from webhook_delivery_log d
    where ${condition} and ${isKept}`;
  return `
  with asked as materialized (
    select coalesce((
      select d.event_id from (${deliveriesSql('d.id = $2')}) d join webhook_endpoints e on e.id = d.endpoint_id
      where e.owner_id = $1 and e.removed_at is null), $2) as event_id
  )
  select d.event_id, e.id, e.scope, d.id, d.type, d.created_at
  from webhook_endpoints e
    cross join lateral (${deliveriesSql('d.endpoint_id = e.id and d.event_id = (select event_id from asked)')}) d
  where e.owner_id = $1 and e.removed_at is null order by e.id`;
}

/** Reads an event that the app published. $1 event. */
const PUBLISHED_EVENT = 'select name, owner_id, created_at from webhook_events where id = $1';

/** Reads an event that waits in the outbox. $1 event. Scans the outbox, which has an index only by age. */
const WAITING_EVENT = `
  select ${OUTBOX_COLUMNS} from outbox where event_id = $1 limit 1`;

/** What is stored about an event. */
export interface KnownEvent {
  id: string;
  name: string;
  /** When the event happened or, if it is known only from a delivery, when that delivery was created. ISO 8601. */
  at: string;
  /** Whether the relay has not handled the endpoint for this event yet. */
  waitsForEndpoint: boolean;
  /** The record that the event is about, or the owner of an app event. Parts that are not stored are undefined. */
  about?: { resource: string; record: StoredRecord | undefined } | { owner: string | null };
  /** Whether the endpoint's owner would receive the event now, if the endpoint subscribes to it and has no filter. */
  isReadable(): Promise<boolean>;
  /** Reads the change that filters decide on; undefined if the event is about no record, or the owner may not read it. */
  readChange(): Promise<KnownChange | undefined>;
}

/** A change of a record, as filters evaluate it. */
export type KnownChange = FilteredEvent & {
  /** Whether the changed fields are known. */
  knowsChangedFields: boolean;
};

/** Finds events by what is stored about them. */
export interface EventFinder {
  /** Finds the deliveries of an event to the endpoints of an owner. @param id of the event, or of one of these deliveries */
  findDeliveries(ownerId: string, id: string): Promise<DeliveredRow[]>;
  /** Finds an event for an endpoint of a user, also by its deliveries to other endpoints of the user. */
  findEvent(
    id: string,
    deliveries: readonly DeliveredRow[],
    endpoint: Endpoint,
    user: Viewer,
  ): Promise<KnownEvent | undefined>;
}

/** What the decision of a fan-out depends on. */
interface FanOutDependencies extends Pick<Host, 'service' | 'log'>, Pick<WebhookSettings, 'globalPolicy'> {
  /** The resources by name, with their former names. */
  gateways: ReadonlyMap<string, ResourceGateway>;
}

/** Whether a fan-out would deliver an event to the endpoint now. @param event its record and resource, or the owner of an app's event */
async function wouldFanOutDeliver(
  { service, log, globalPolicy, gateways }: FanOutDependencies,
  { scope }: Endpoint,
  user: Viewer,
  event: NonNullable<KnownEvent['about']>,
): Promise<boolean> {
  const viewContext = { user, req: undefined, service };
  try {
    if (scope === 'global') {
      const args = { ...viewContext, action: 'webhook', doc: undefined };
      if (!(await allowsAction(globalPolicy, args, false))) return false;
    }
    if ('owner' in event) return scope === 'global' || event.owner === user.id;
    const gateway = gateways.get(event.resource);
    if (gateway === undefined || event.record === undefined) return false;
    // The endpoint of an organisation gets only records of organisations, even if others are public.
    if (viewerThroughRelation(user, gateway.name) === undefined) return false;
    return await (scope === 'global'
      ? gateway.inScope(event.record, viewContext)
      : gateway.readableBy(event.record, viewContext));
  } catch (error) {
    if (isTransient(error)) throw error;
    // As in a fan-out: if a policy throws for a user, that user does not receive the event.
    log.error({ err: error, user: user.id }, 'a policy threw while an event was explained');
    return false;
  }
}

/** Returns a change of a record of which only the result is known, not which fields an update changed. */
export function toKnownChange(name: string, gateway: ResourceGateway, record: StoredRecord): KnownChange {
  const isUpdate = name.endsWith('.updated');
  return { name, gateway, record, hasChanged: () => isUpdate, knowsChangedFields: !isUpdate };
}

/**
 * Reads a change of a record from the body of its delivery, as the owner of the endpoint saw it; undefined for other events.
 *
 * @param gateways the resources by name, with their former names
 */
export function readChangeFromBody(
  gateways: ReadonlyMap<string, ResourceGateway>,
  published: WebhookSettings['events'],
  name: string,
  body: string,
): KnownChange | undefined {
  const gateway = Object.hasOwn(published, name) ? undefined : gateways.get(name.slice(0, name.indexOf('.')));
  const { data } = JSON.parse(body) as { data?: Record<string, unknown> | null };
  if (gateway === undefined || typeof data !== 'object' || data === null) return undefined;
  return toKnownChange(name, gateway, gateway.fromSerialized(data));
}

const toRecordOrOwner = (event: OutgoingEvent) =>
  event.gateway === undefined ? { owner: event.owner } : { resource: event.gateway.name, record: event.record };

/** Creates the finder of events. @param eventLog undefined if events are not kept */
export function createEventFinder(
  host: Pick<Host, 'database' | 'service' | 'resources' | 'log'>,
  settings: Pick<WebhookSettings, 'globalPolicy' | 'keepDeliveriesDays' | 'events'>,
  { readableBodies }: Pick<DeliverySerializer, 'readableBodies'>,
  eventLog: Pick<EventLog, 'find'> | undefined,
): EventFinder {
  const { database, service, log } = host;
  const deliveriesText = deliveriesOfEventSql(isKeptSql(settings));
  const gateways = gatewaysByName(host.resources);
  const sent = new Set(listSentResources(host.resources));
  const fanOut = { service, log, globalPolicy: settings.globalPolicy, gateways };

  async function findEventInOutbox(id: string, endpoint: Endpoint, user: Viewer): Promise<KnownEvent | undefined> {
    const [raw] = await database.readSlowly<RawOutboxRow>({ text: WAITING_EVENT, values: [id] });
    if (raw === undefined) return undefined;
    const row = toOutboxRow(raw);
    if (row.resource === null ? row.name !== OWN_ROW_NAME : !sent.has(gateways.get(row.resource)!)) return undefined;
    const event = readOutgoingEvent(row, gateways);
    // The relay has handled only some endpoints of a large event so far.
    return toKnownEvent(event, endpoint.id > event.after, endpoint, user);
  }

  async function findKeptEvent(id: string, endpoint: Endpoint, user: Viewer): Promise<KnownEvent | undefined> {
    const event = await eventLog?.find(id);
    return event && toKnownEvent(event, false, endpoint, user);
  }

  function toKnownEvent(event: OutgoingEvent, waitsForEndpoint: boolean, endpoint: Endpoint, user: Viewer): KnownEvent {
    const about = toRecordOrOwner(event);
    const { id, name, at } = event;
    return {
      id,
      name,
      at,
      waitsForEndpoint,
      about,
      isReadable: () => wouldFanOutDeliver(fanOut, endpoint, user, about),
      readChange: async () => (event.gateway === undefined ? undefined : { ...event, knowsChangedFields: true }),
    };
  }

  async function findPublishedEvent(id: string, endpoint: Endpoint, user: Viewer): Promise<KnownEvent | undefined> {
    const statement = { text: PUBLISHED_EVENT, values: [id] };
    const [row] = await database.read<[name: string, owner: string | null, at: string]>(statement);
    if (row === undefined) return undefined;
    const [name, owner, at] = row;
    const about = { owner };
    return {
      id,
      name,
      at,
      waitsForEndpoint: false,
      about,
      isReadable: () => wouldFanOutDeliver(fanOut, endpoint, user, about),
      readChange: async () => undefined,
    };
  }

  /** Reads an event from its deliveries to other endpoints of the caller. */
  function findDeliveredEvent(rows: readonly DeliveredRow[], endpoint: Endpoint, user: Viewer): KnownEvent | undefined {
    const [first] = rows;
    if (first === undefined) return undefined;
    const [id, , , deliveryId, name, at] = first;
    if (name === TEST_EVENT) return undefined;
    const audience = { owner: user.id, organisationRole: getOrganisationRole(user), scope: endpoint.scope };
    const readBody = async () => (await readableBodies(audience, [deliveryId])).get(deliveryId);
    return {
      id,
      name,
      at,
      waitsForEndpoint: false,
      isReadable: async () => (await readBody()) !== undefined,
      async readChange() {
        const body = await readBody();
        return body === undefined ? undefined : readChangeFromBody(gateways, settings.events, name, body);
      },
    };
  }

  return {
    findDeliveries: (ownerId, id) =>
      database.read<DeliveredRow>({ name: 'webhook_delivered', text: deliveriesText, values: [ownerId, id] }),
    findEvent: async (id, deliveries, endpoint, user) =>
      (await findEventInOutbox(id, endpoint, user)) ??
      (await findPublishedEvent(id, endpoint, user)) ??
      (await findKeptEvent(id, endpoint, user)) ??
      findDeliveredEvent(deliveries, endpoint, user),
  };
}
