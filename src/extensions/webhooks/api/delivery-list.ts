import { z } from 'zod';
import { ApiError, type Host, isId, type RouteContext, toPage, withMeta } from '../../../extension/index.ts';
import { DELIVERY_STATUSES, type DeliveryStatus, isKeptSql } from '../deliveries/deliveries-sql.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { countPositionValues, type DeliveryRow, listDeliveriesSql } from './delivery-log-sql.ts';
import { getCallerAudience, serializeLoadedEndpoint } from './endpoint-access.ts';
import type { DeliverySerializer } from './serialize-delivery.ts';

const DEFAULT_LIMIT = 50;

const MAX_LIMIT = 100;

/** The query of the delivery log. */
export const logQueryShape = z.object({
  status: z.enum(DELIVERY_STATUSES).optional(),
  event: z.string().optional().meta({ description: 'The name of an event: `post.created`.' }),
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
  after: z.string().optional().meta({ description: 'The `meta.next` of the previous page, with the same `status`.' }),
});

const LOG_PARAMETERS = Object.keys(logQueryShape.shape);

interface LogQuery {
  status: DeliveryStatus | undefined;
  event: string | undefined;
  limit: number;
  /** The position after which the page begins. */
  after: readonly string[] | undefined;
}

/** Returns the cursor of the page that starts after a row. Its last columns are its position in the list. */
function encodePosition(row: readonly unknown[], status: DeliveryStatus | undefined): string {
  return Buffer.from(row.slice(-countPositionValues(status)).join(' ')).toString('base64url');
}

/** @throws ApiError BAD_REQUEST if no page of a list with this status has returned the cursor */
function decodePosition(cursor: string, status: DeliveryStatus | undefined): readonly string[] {
  const values = Buffer.from(cursor.slice(0, 200), 'base64url').toString('latin1').split(' ');
  const isValid =
    values.length === countPositionValues(status) &&
    isId(values.at(-1)) &&
    values.slice(0, -1).every((us) => /^\d{1,16}$/.test(us));
  if (!isValid) throw new ApiError('BAD_REQUEST', 'after must be the "meta.next" of a page with the same status');
  return values;
}

/**
 * Reads the query of the delivery log.
 *
 * @throws ApiError BAD_REQUEST naming the parameter that is unknown, malformed or given twice
 */
function readLogQuery(query: Record<string, string | string[]>): LogQuery {
  const unknown = Object.keys(query).find((name) => !LOG_PARAMETERS.includes(name));
  if (unknown !== undefined)
    throw new ApiError('BAD_REQUEST', `Unknown parameter "${unknown.slice(0, 100)}"; use ${LOG_PARAMETERS.join(', ')}`);
  const { status, event, after, limit = String(DEFAULT_LIMIT) } = query;
  const known = DELIVERY_STATUSES.find((one) => one === status);
  if (status !== undefined && known === undefined) {
    throw new ApiError('BAD_REQUEST', `status must be one of ${DELIVERY_STATUSES.join(', ')}`);
  }
  const count = typeof limit === 'string' && /^\d{1,3}$/.test(limit) ? Number(limit) : 0;
  if (count < 1 || count > MAX_LIMIT)
    throw new ApiError('BAD_REQUEST', `limit must be a whole number from 1 to ${MAX_LIMIT}`);
  if (event !== undefined && !(typeof event === 'string' && /^[\w.-]{1,200}$/.test(event)))
    throw new ApiError('BAD_REQUEST', 'event must be the name of an event, such as post.created');
  if (Array.isArray(after)) throw new ApiError('BAD_REQUEST', 'after must be given once');
  return { status: known, event, limit: count, after: after === undefined ? undefined : decodePosition(after, known) };
}

/** Creates the handler of requests for a page of an endpoint's deliveries. */
export function createDeliveryLister(
  { database }: Pick<Host, 'database'>,
  settings: Pick<WebhookSettings, 'keepDeliveriesDays'>,
  { serializeDeliveries: serializeRows }: Pick<DeliverySerializer, 'serializeDeliveries'>,
) {
  const isKept = isKeptSql(settings);
  return async (ctx: RouteContext) => {
    const { status, event, limit, after } = readLogQuery(ctx.query);
    const { id } = serializeLoadedEndpoint(ctx);
    const text = listDeliveriesSql({ status, byType: event !== undefined, isContinued: after !== undefined }, isKept);
    const values = [id, limit + 1, ...(event === undefined ? [] : [event]), ...(after ?? [])];
    // If few deliveries have the name of the event, the search for them reads much of the log.
    const found = await (event === undefined
      ? database.read<DeliveryRow>({ text, values })
      : database.readSlowly<DeliveryRow>({ text, values }));
    const { page, next } = toPage(found, limit, (row) => encodePosition(row, status));
    return withMeta(await serializeRows(getCallerAudience(ctx), page), { limit, next });
  };
}
