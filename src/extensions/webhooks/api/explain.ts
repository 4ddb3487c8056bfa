import { z } from 'zod';
import {
  ApiError,
  DAY_MS,
  gatewaysByName,
  type Host,
  isId,
  parseCreatedMs,
  type Route,
  type RouteContext,
  type Viewer,
} from '../../../extension/index.ts';
import { DELIVERY_STATUSES, earliestFinishSql, isKeptSql } from '../deliveries/deliveries-sql.ts';
import type { serializeEndpoint } from '../endpoints/endpoint.ts';
import { isApiKey, type KeyLimits } from '../endpoints/key-limits.ts';
import type { FilterChecks } from '../filters/check.ts';
import {
  createFilterEvaluator,
  type FailedCondition,
  failedConditionShape,
  translateFailed,
} from '../filters/evaluate.ts';
import { listMatchingNames } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { type DeliveryRow, readDeliverySql } from './delivery-log-sql.ts';
import { createOwnEndpointLoader, REQUEST_RATE_LIMIT, serializeLoadedEndpoint } from './endpoint-access.ts';
import type { EventFinder, KnownEvent } from './known-events.ts';
import type { EndpointAccess } from './organisation-endpoints.ts';
import { reachesEndpoint } from './portal-grants.ts';
import { serializeDelivery } from './serialize-delivery.ts';

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

/** What the reason `created_later` means if events are kept. */
const BACKFILL_HINT = 'The endpoint was created after the event. A backfill can send it.';

/** Why an event was or was not delivered to an endpoint, and what that means. */
const REASONS = {
  delivered: 'A delivery of this event to this endpoint exists.',
  created_later: 'The endpoint was created after the event.',
  filtered: 'The endpoint does not currently subscribe to this event.',
  filter_not_met: 'The event does not meet the current filter of the endpoint.',
  disabled: 'The endpoint is currently disabled.',
  not_readable: 'You cannot currently receive this event: you may not read its data, or its record no longer exists.',
  waiting: 'The event is waiting to be delivered.',
  too_old: 'The event is older than the retention period.',
  changed_since: 'You would receive this event now, but the endpoint or your access was different when it happened.',
} as const;

/** A key of `REASONS`. */
type Reason = keyof typeof REASONS;

/** Why an endpoint did or did not get an event. */
interface Explanation {
  event: string;
  reason: Reason;
  /** Name of the event, if the caller may read it. */
  name?: string;
  deliveryId?: string;
  /** The condition of the filter that the event does not meet. */
  filter?: FailedCondition;
}

type Endpoint = ReturnType<typeof serializeEndpoint>;

type Caller = { user: Viewer } & Pick<RouteContext, 'auth'>;

/** Creates the explainer. It reads stored deliveries; for an event without a stored delivery, it decides as a fan-out would now. */
function createExplainer(
  host: Host,
  settings: WebhookSettings,
  { findDeliveries, findEvent }: EventFinder,
  filters: Pick<FilterChecks, 'viewerOf'>,
) {
  const gateways = gatewaysByName(host.resources);

  async function findFailedCondition(
    known: KnownEvent,
    { filter, scopes }: Endpoint,
    user: Viewer,
  ): Promise<FailedCondition | undefined> {
    const change = filter === null ? undefined : await known.readChange();
    if (filter === null || change === undefined) return undefined;
    const viewContext = { user: filters.viewerOf(user, scopes), req: undefined, service: host.service };
    return createFilterEvaluator(gateways, viewContext).findFailed(filter, change);
  }

  function explainUndelivered(
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
    const found = await findDeliveries(user.id, eventOrDeliveryId);
    const rows = found.filter(([, id, scope]) => reachesEndpoint(auth, { id, scope }));
    const own = rows.find(([, endpointId]) => endpointId === endpoint.id);
    if (own !== undefined) return { event: own[0], reason: 'delivered', name: own[4], deliveryId: own[3] };
    const id = rows[0]?.[0] ?? eventOrDeliveryId;
    const known = await findEvent(id, rows, endpoint, user);
    if (known === undefined) {
      if (parseCreatedMs(id) < Date.now() - settings.keepDeliveriesDays * DAY_MS)
        return { event: id, reason: 'too_old' };
      throw new ApiError('NOT_FOUND');
    }
    // Check this first: a caller who may not read the event must learn nothing else about it.
    if (!(await known.isReadable())) return { event: id, reason: 'not_readable' };
    const reason = explainUndelivered(known, endpoint);
    const failed = reason === 'filtered' ? undefined : await findFailedCondition(known, endpoint, user);
    if (failed !== undefined) return { event: id, name: known.name, reason: 'filter_not_met', filter: failed };
    return { event: id, name: known.name, reason };
  };
}

/** The route that explains why an event was or was not delivered. */
export function explainRoute(
  host: Host,
  settings: WebhookSettings,
  limits: KeyLimits,
  finder: EventFinder,
  filters: Pick<FilterChecks, 'viewerOf'>,
  access: EndpointAccess,
): Route {
  const { database } = host;
  const explainDelivery = createExplainer(host, settings, finder, filters);
  const readText = readDeliverySql(isKeptSql(settings));
  return {
    method: 'GET',
    path: '/webhooks/:id/explain',
    policy: settings.policy,
    tags: ['webhooks'],
    organisationKeys: true,
    summary: 'Why an event was or was not delivered to a webhook endpoint',
    description:
      'Deliveries and the creation time of the endpoint are stored facts. Its subscriptions, its filter, whether it is enabled, and what you may ' +
      'read are evaluated as they are now. For an event that you may not read, the only reason given is `not_readable`.',
    rateLimit: REQUEST_RATE_LIMIT,
    load: createOwnEndpointLoader(database, access),
    queryShape: explainQueryShape,
    output: explanationShape,
    errors: ['NOT_FOUND'],
    operationId: 'explainWebhookEvent',
    async handler(ctx) {
      const eventOrDeliveryId = readEventIdFromQuery(ctx.query);
      const { text } = host.languages.for(ctx.req);
      const endpoint = serializeLoadedEndpoint(ctx);
      if (!isId(eventOrDeliveryId)) throw new ApiError('NOT_FOUND');
      const { event, reason, name, deliveryId, filter } = await explainDelivery(
        { user: ctx.user!, auth: ctx.auth },
        endpoint,
        eventOrDeliveryId,
      );
      if (name !== undefined && reason !== 'delivered' && isApiKey(ctx.auth) && !limits.reads(ctx.auth, [name])) {
        return { event, reason: 'not_readable', message: text(REASONS.not_readable) };
      }
      const explained = {
        event,
        reason,
        message: text(reason === 'created_later' && settings.keepEventsDays > 0 ? BACKFILL_HINT : REASONS[reason]),
        ...(name !== undefined && { name }),
        ...(filter && { filter: translateFailed(filter, text) }),
      };
      if (deliveryId === undefined) return explained;
      const values = [deliveryId, endpoint.id, earliestFinishSql([deliveryId])];
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
    filter: failedConditionShape.optional(),
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
