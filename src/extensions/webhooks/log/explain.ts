import { z } from 'zod';
import type { Host, StoredRecord } from '../../../declare/host.ts';
import { allowsAction, type Viewer } from '../../../declare/policy.ts';
import type { Route, RouteContext } from '../../../declare/route.ts';
import { ApiError } from '../../../platform/errors.ts';
import { createdMsOf, isId } from '../../../platform/ids.ts';
import { OUTBOX_COLUMNS, type RawOutboxRow, toOutboxRow } from '../../../platform/outbox/table.ts';
import { isTransient } from '../../../platform/postgres/errors.ts';
import {
  createOwnEndpointLoader,
  isApiKey,
  type KeyLimits,
  REQUEST_RATE_LIMIT,
  serializeLoadedEndpoint,
} from '../endpoints/access.ts';
import type { serializeEndpoint } from '../endpoints/endpoint.ts';
import { listMatchingNames, listSentResources, TEST_EVENT } from '../events.ts';
import { type OutgoingEvent, OWN_ROW_NAME, readOutgoingEvent } from '../fanout/outgoing-event.ts';
import { reachesEndpoint } from '../portal/grants.ts';
import type { WebhookSettings } from '../settings.ts';
import { DELIVERY_STATUSES, type DeliveryRow, earliestFinishOf, isKeptSql, readDeliverySql } from './deliveries-sql.ts';
import { type DeliverySerializer, serializeDelivery } from './delivery.ts';

/** The query of a request for an explanation. */
const explainQueryShape = z.object({
  event: z
    .string()
    .meta({ description: 'The id of an event, or of one of your deliveries of it, to any of your endpoints.' }),
});

/**
 * Returns the parameter `event` of a request for an explanation.
 *
 * @throws ApiError BAD_REQUEST naming the parameter that is unknown, missing or given twice
 */
function readEventIdFromQuery(query: Record<string, string | string[]>): string {
  const unknown = Object.keys(query).find((name) => name !== 'event');
  if (unknown !== undefined)
    throw new ApiError('BAD_REQUEST', `Unknown parameter "${unknown.slice(0, 100)}"; use event`);
  const { event } = query;
  if (typeof event !== 'string' || event === '') throw new ApiError('BAD_REQUEST', 'event must be the id of an event');
  return event;
}

/** A delivery of the event to one of the caller's endpoints. */
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

/** Why an event was or was not delivered to an endpoint, and what that means. */
export const REASONS = {
  delivered: 'A delivery of this event to this endpoint exists.',
  created_later: 'The endpoint was created after the event.',
  filtered: 'The endpoint does not currently subscribe to this event.',
  disabled: 'The endpoint is currently disabled.',
  not_readable: 'You cannot currently receive this event: you may not read its data, or its record no longer exists.',
  waiting: 'The event is waiting to be delivered.',
  too_old: 'The event is older than the retention period.',
  changed_since: 'You would receive this event now, but the endpoint or your access was different when it happened.',
} as const;

/** A key of `REASONS`. */
export type Reason = keyof typeof REASONS;

/** Why an endpoint did or did not get an event. */
interface Explanation {
  event: string;
  reason: Reason;
  /** Name of the event, if the caller may read it. */
  name?: string;
  deliveryId?: string;
}

type Endpoint = ReturnType<typeof serializeEndpoint>;

type Caller = { user: Viewer } & Pick<RouteContext, 'auth'>;

/** What is stored about an event. */
interface KnownEvent {
  id: string;
  name: string;
  /** When the event happened or, if it is known only from a delivery, when that delivery was created. ISO 8601. */
  at: string;
  waitsForEndpoint: boolean;
  isReadable(): Promise<boolean>;
}

const DAY_MS = 86_400_000;

/** Creates the explainer. It reads stored deliveries; for an event without a stored delivery, it decides as a fan-out would now. */
function createExplainer(
  host: Host,
  settings: WebhookSettings,
  { readableBodies }: Pick<DeliverySerializer, 'readableBodies'>,
) {
  const { database, service } = host;
  const deliveriesText = deliveriesOfEventSql(isKeptSql(settings));
  const gateways = new Map(host.resources.map((gateway) => [gateway.name, gateway]));
  const sent = new Set(listSentResources(host.resources).map(({ name }) => name));

  /** Whether a fan-out would deliver an event to the endpoint now. @param event its record and resource, or the owner of an app's event */
  async function wouldFanOutDeliver(
    { scope }: Endpoint,
    user: Viewer,
    event: { resource: string; record: StoredRecord | undefined } | { owner: string | null },
  ): Promise<boolean> {
    const viewContext = { user, req: undefined, service };
    try {
      if (scope === 'global') {
        const args = { ...viewContext, action: 'webhook', doc: undefined };
        if (!(await allowsAction(settings.globalPolicy, args, false))) return false;
      }
      if ('owner' in event) return scope === 'global' || event.owner === user.id;
      const gateway = gateways.get(event.resource);
      if (gateway === undefined || event.record === undefined) return false;
      return await (scope === 'global'
        ? gateway.inScope(event.record, viewContext)
        : gateway.readableBy(event.record, viewContext));
    } catch (error) {
      if (isTransient(error)) throw error;
      // As in a fan-out: if a policy throws for a user, that user does not receive the event.
      host.log.error({ err: error, user: user.id }, 'a policy threw while an event was explained');
      return false;
    }
  }

  const recordOrOwnerOf = (event: OutgoingEvent) =>
    event.gateway === undefined ? { owner: event.owner } : { resource: event.gateway.name, record: event.record };

  async function findEventInOutbox(id: string, endpoint: Endpoint, user: Viewer): Promise<KnownEvent | undefined> {
    const [raw] = await database.readSlowly<RawOutboxRow>({ text: WAITING_EVENT, values: [id] });
    if (raw === undefined) return undefined;
    const row = toOutboxRow(raw);
    if (row.resource === null ? row.name !== OWN_ROW_NAME : !sent.has(row.resource)) return undefined;
    const event = readOutgoingEvent(row, gateways);
    // The relay has handled only some endpoints of a large event so far.
    const waitsForEndpoint = endpoint.id > event.after;
    return { ...event, waitsForEndpoint, isReadable: () => wouldFanOutDeliver(endpoint, user, recordOrOwnerOf(event)) };
  }

  async function findPublishedEvent(id: string, endpoint: Endpoint, user: Viewer): Promise<KnownEvent | undefined> {
    const statement = { text: PUBLISHED_EVENT, values: [id] };
    const [row] = await database.read<[name: string, owner: string | null, at: string]>(statement);
    if (row === undefined) return undefined;
    const [name, owner, at] = row;
    return { id, name, at, waitsForEndpoint: false, isReadable: () => wouldFanOutDeliver(endpoint, user, { owner }) };
  }

  /** Reads an event from its deliveries to other endpoints of the caller. */
  function findDeliveredEvent(rows: readonly DeliveredRow[], endpoint: Endpoint, user: Viewer): KnownEvent | undefined {
    const [first] = rows;
    if (first === undefined) return undefined;
    const [id, , , deliveryId, name, at] = first;
    if (name === TEST_EVENT) return undefined;
    const audience = { owner: user.id, scope: endpoint.scope };
    const isReadable = async () => (await readableBodies(audience, [deliveryId])).has(deliveryId);
    return { id, name, at, waitsForEndpoint: false, isReadable };
  }

  function undeliveredReasonOf(
    { name, at, waitsForEndpoint }: KnownEvent,
    { events, enabled, createdAt }: Endpoint,
  ): Reason {
    // A waiting event is delivered to the endpoints that exist when the relay handles it.
    if (!waitsForEndpoint && Date.parse(createdAt) > Date.parse(at)) return 'created_later';
    if (!listMatchingNames(name).some((one) => events.includes(one))) return 'filtered';
    if (!enabled) return 'disabled';
    return waitsForEndpoint ? 'waiting' : 'changed_since';
  }

  /**
   * Explains why an endpoint of the caller did or did not get an event.
   *
   * @param eventOrDeliveryId the id of the event, or of one of its deliveries to the caller
   * @throws ApiError NOT_FOUND if nothing is stored about the event
   */
  return async function explain(
    { user, auth }: Caller,
    endpoint: Endpoint,
    eventOrDeliveryId: string,
  ): Promise<Explanation> {
    const found = await database.read<DeliveredRow>({
      name: 'webhook_delivered',
      text: deliveriesText,
      values: [user.id, eventOrDeliveryId],
    });
    const rows = found.filter(([, id, scope]) => reachesEndpoint(auth, { id, scope }));
    const own = rows.find(([, endpointId]) => endpointId === endpoint.id);
    if (own !== undefined) return { event: own[0], reason: 'delivered', name: own[4], deliveryId: own[3] };
    const id = rows[0]?.[0] ?? eventOrDeliveryId;
    const known =
      (await findEventInOutbox(id, endpoint, user)) ??
      (await findPublishedEvent(id, endpoint, user)) ??
      findDeliveredEvent(rows, endpoint, user);
    if (known === undefined) {
      if (createdMsOf(id) < Date.now() - settings.keepDeliveriesDays * DAY_MS) return { event: id, reason: 'too_old' };
      throw new ApiError('NOT_FOUND');
    }
    // Check this first: a caller who may not read the event must learn nothing else about it.
    if (!(await known.isReadable())) return { event: id, reason: 'not_readable' };
    return { event: id, name: known.name, reason: undeliveredReasonOf(known, endpoint) };
  };
}

/** The route that explains why an event was or was not delivered. */
export function explainRoute(
  host: Host,
  settings: WebhookSettings,
  limits: KeyLimits,
  deliverySerializer: Pick<DeliverySerializer, 'readableBodies'>,
): Route {
  const { database } = host;
  const explainDelivery = createExplainer(host, settings, deliverySerializer);
  const readText = readDeliverySql(isKeptSql(settings));
  return {
    method: 'GET',
    path: '/webhooks/:id/explain',
    policy: settings.policy,
    tags: ['webhooks'],
    summary: 'Why an event was or was not delivered to a webhook endpoint',
    description:
      'Deliveries and the creation time of the endpoint are stored facts. Its subscriptions, whether it is enabled, and what you may ' +
      'read are evaluated as they are now. For an event that you may not read, the only reason given is `not_readable`.',
    rateLimit: REQUEST_RATE_LIMIT,
    load: createOwnEndpointLoader(database),
    queryShape: explainQueryShape,
    output: explanationShape,
    errors: ['NOT_FOUND'],
    operationId: 'explainWebhookEvent',
    async handler(ctx) {
      const eventOrDeliveryId = readEventIdFromQuery(ctx.query);
      const endpoint = serializeLoadedEndpoint(ctx);
      if (!isId(eventOrDeliveryId)) throw new ApiError('NOT_FOUND');
      const { event, reason, name, deliveryId } = await explainDelivery(
        { user: ctx.user!, auth: ctx.auth },
        endpoint,
        eventOrDeliveryId,
      );
      if (name !== undefined && reason !== 'delivered' && isApiKey(ctx.auth) && !limits.reads(ctx.auth, [name])) {
        return { event, reason: 'not_readable', message: REASONS.not_readable };
      }
      const explained = { event, reason, message: REASONS[reason], ...(name === undefined ? {} : { name }) };
      if (deliveryId === undefined) return explained;
      const values = [deliveryId, endpoint.id, earliestFinishOf([deliveryId])];
      const [row] = await database.read<DeliveryRow>({ name: 'webhook_delivery', text: readText, values });
      if (row === undefined) throw new ApiError('NOT_FOUND');
      const { id, status, attempts, error } = serializeDelivery(row, undefined);
      return { ...explained, delivery: { id, status, attempts, error } };
    },
  };
}

/** The shape of an explanation in responses. */
const explanationShape = z
  .strictObject({
    event: z.string(),
    reason: z.enum(Object.keys(REASONS) as [Reason, ...Reason[]]),
    message: z.string().meta({ description: 'What the reason means.' }),
    name: z.string().optional(),
    delivery: z
      .strictObject({
        id: z.string(),
        status: z.enum(DELIVERY_STATUSES),
        attempts: z.int(),
        error: z.string().nullable(),
      })
      .optional(),
  })
  .meta({ id: 'WebhookExplanation' });
