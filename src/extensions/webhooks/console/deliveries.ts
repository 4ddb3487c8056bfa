import { z } from 'zod';
import {
  ApiError,
  type ConsoleRoute,
  countParameter,
  type Database,
  type Host,
  isId,
  parseCreatedMs,
  type RouteContext,
  toPage,
  withMeta,
} from '../../../extension/index.ts';
import { type DeliveryRow, readDeliverySql } from '../api/delivery-log-sql.ts';
import { type DeliverySerializer, serializeDelivery } from '../api/serialize-delivery.ts';
import {
  DELIVERY_STATUSES,
  type DeliveryStatus,
  earliestFinishSql,
  isKeptSql,
  WAITING_STATUS,
} from '../deliveries/deliveries-sql.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { type OwnerRoutes, serializeForAdministrator } from './as-owner.ts';
import { createContentReader } from './delivery-content.ts';
import type { Delivery, DeliveryDetails } from './responses.ts';

const MAX_LIMIT = 100;
/** Maximum number of deliveries that a filtered page searches; the next page continues the search. */
const SEARCHED = 10_000;

const listQuery = z.strictObject({
  status: z.enum(DELIVERY_STATUSES, { error: `Must be one of: ${DELIVERY_STATUSES.join(', ')}` }).optional(),
  event: z
    .string()
    .regex(/^[\w.-]{1,200}$/, { error: 'Must be the name of an event, such as post.created' })
    .optional(),
  after: z.string().refine(isId, { error: 'Must be the "meta.next" of a previous page' }).optional(),
  limit: countParameter(MAX_LIMIT, 50),
});

const LIST_COLUMNS = 'd.id, d.endpoint_id, d.type, d.attempts, d.status_code, d.duration_ms, d.error';

type ListRow = [
  id: string,
  endpointId: string,
  type: string,
  attempts: number,
  statusCode: number | null,
  durationMs: number | null,
  error: string | null,
  status: DeliveryStatus,
  nextAttemptAt: string | null,
  url: string | null,
  owner: string,
  organisationRole: string | null,
];

/**
 * Lists the deliveries of all endpoints, newest first. $1 page size, $2 maximum number of deliveries to search, $3 the id before which
 * the search begins. Uses the indexes by id. The last row has only the id at which the search ended, or null if it reached the oldest delivery.
 */
function listStatement(isKept: string, { status, event, after, limit }: z.output<typeof listQuery>) {
  const values: unknown[] = [limit + 1, status === undefined && event === undefined ? limit + 1 : SEARCHED, after];
  const before = 'd.id < coalesce($3::text, repeat(chr(103), 24))';
  const conditions = [
    ...(status === undefined ? [] : [`and d.status = $${values.push(status)}::text`]),
    ...(event === undefined ? [] : [`and d.type = $${values.push(event)}::text`]),
  ];
  const text = `
  with searched as materialized (
    select * from (
      (select ${LIST_COLUMNS}, ${WAITING_STATUS} as status, case when d.status <> 'waiting' then d.next_attempt_at end as next_attempt_at from webhook_deliveries d where ${before} order by d.id desc limit $2)
      union all
      (select ${LIST_COLUMNS}, d.status, null::timestamptz from webhook_delivery_log d where ${before} and ${isKept}
        order by d.id desc limit $2)) d
    order by d.id desc limit $2)
  (select d.*, nullif(e.url, '') as url, e.owner_id, e.organisation_role from searched d join webhook_endpoints e on e.id = d.endpoint_id
    where e.removed_at is null ${conditions.join(' ')} order by d.id desc limit $1)
  union all
  select case when count(*) = $2 then min(id) end, null, null, null, null, null, null, null, null, null, null, null from searched`;
  return { text, values };
}

const toListItem = ([
  id,
  endpoint,
  type,
  attempts,
  statusCode,
  durationMs,
  error,
  status,
  next,
  url,
  owner,
  organisationRole,
]: ListRow): Delivery => ({
  id,
  type,
  createdAt: new Date(parseCreatedMs(id)).toISOString(),
  status,
  attempts,
  statusCode,
  durationMs,
  error,
  nextAttemptAt: status === 'pending' ? next : null,
  endpoint: { id: endpoint, url, owner, ...(organisationRole !== null && { as: `org:${organisationRole}` }) },
});

/** Finds a delivery of any endpoint. $1 delivery, $2 see `earliestFinishSql`. Uses the primary keys. */
const FIND_DELIVERY = `
  select endpoint_id, event_id, encrypted_body is not null from webhook_deliveries where id = $1
  union all
  select endpoint_id, event_id, encrypted_body is not null from webhook_delivery_log where id = $1 and finished_at >= $2::timestamptz`;

type FoundRow = [endpointId: string, eventId: string, isEncrypted: boolean];

/** @throws ApiError NOT_FOUND */
async function findDelivery(database: Database, as: OwnerRoutes, isKept: string, id: string | undefined) {
  if (!isId(id)) throw new ApiError('NOT_FOUND');
  const earliest = earliestFinishSql([id]);
  const [found] = await database.read<FoundRow>({ text: FIND_DELIVERY, values: [id, earliest] });
  if (found === undefined) throw new ApiError('NOT_FOUND');
  const [endpointId, eventId, isEncrypted] = found;
  const [loaded, [row]] = await Promise.all([
    as.load(endpointId),
    database.read<DeliveryRow>({
      name: 'webhook_delivery',
      text: readDeliverySql(isKept),
      values: [id, endpointId, earliest],
    }),
  ]);
  if (row === undefined) throw new ApiError('NOT_FOUND');
  return { ...loaded, delivery: row, eventId, isEncrypted };
}

/** The routes of the deliveries of all endpoints, for administrators. */
export function deliveryConsoleRoutes(
  host: Pick<Host, 'database' | 'keyring' | 'log'>,
  settings: WebhookSettings,
  as: OwnerRoutes,
  serializer: Pick<DeliverySerializer, 'readableBodies' | 'decryptResponseOrNull'>,
): ConsoleRoute[] {
  const { database } = host;
  const isKept = isKeptSql(settings);
  const readContent = createContentReader(host, serializer);
  const find = (id: string | undefined) => findDelivery(database, as, isKept, id);

  async function listDeliveries(ctx: RouteContext) {
    const query = ctx.query as unknown as z.output<typeof listQuery>;
    const found = await database.readSlowly<ListRow>(listStatement(isKept, query));
    const listed = found.filter(([, endpoint]) => endpoint !== null);
    const { page, next } = toPage(listed, query.limit, ([id]) => id);
    const [searchedTo] = found.find(([, endpoint]) => endpoint === null)!;
    return withMeta(page.map(toListItem), { limit: query.limit, next: next ?? searchedTo, searched: SEARCHED });
  }

  async function readDelivery({ params }: RouteContext): Promise<DeliveryDetails> {
    const found = await find(params.id);
    const {
      response: _,
      payload: __,
      payloadTruncated: ___,
      ...delivery
    } = serializeDelivery(found.delivery, undefined);
    return {
      ...delivery,
      eventId: found.eventId,
      bytes: found.delivery[10],
      endpoint: serializeForAdministrator(found.row),
      // Encrypted values are shown only on request, which the audit trail records.
      isEncrypted: found.isEncrypted,
      content: found.isEncrypted ? null : ((await readContent(found)) ?? null),
    };
  }

  // An entry of the audit trail names the endpoint and its owner, so the delivery is found before.
  const foundBefore = new WeakMap<RouteContext, Awaited<ReturnType<typeof find>>>();
  const check = async (ctx: RouteContext) => {
    foundBefore.set(ctx, await find(ctx.params.id));
  };
  const recordedAs = (ctx: RouteContext) => {
    const { row, owner, delivery } = foundBefore.get(ctx)!;
    return { resource: 'webhook', record: row[0], details: { delivery: delivery[0], owner: owner.id } };
  };

  return [
    { method: 'GET', path: '/deliveries', query: listQuery, handler: listDeliveries },
    { method: 'GET', path: '/deliveries/:id', handler: readDelivery },
    {
      method: 'POST',
      path: '/deliveries/:id/reveal',
      action: 'deliveryRevealed',
      check,
      recordedAs,
      async handler(ctx) {
        return { content: (await readContent(foundBefore.get(ctx)!)) ?? null };
      },
    },
    {
      method: 'POST',
      path: '/deliveries/:id/retry',
      action: 'deliveryRetried',
      check,
      recordedAs,
      async handler(ctx) {
        const { row, owner, delivery } = foundBefore.get(ctx)!;
        const params = { id: row[0], deliveryId: delivery[0] };
        return as.perform('retryWebhookDelivery', ctx, { owner, row, params });
      },
    },
  ];
}
