import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Host } from '../../../declare/host.ts';
import type { Route, RouteContext } from '../../../declare/route.ts';
import { ApiError } from '../../../platform/errors.ts';
import { withMeta } from '../../../platform/http/response.ts';
import { isId, newId } from '../../../platform/ids.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import { DELIVERY_STATUSES, type DeliveryStatus, earliestFinishOf, isKeptSql } from '../deliveries/deliveries-sql.ts';
import { generateMessageId } from '../deliveries/message.ts';
import { requestDelivery } from '../endpoints/endpoint-jobs.ts';
import { isApiKey, type KeyLimits } from '../endpoints/key-limits.ts';
import { type Audience, NOT_READABLE } from '../engine/readability/readability.ts';
import { TEST_EVENT } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import {
  type DeliveryRow,
  INSERT_TEST,
  listDeliveriesSql,
  positionLengthOf,
  readDeliverySql,
  refuseDeliverySql,
  sendAgainSql,
} from './delivery-log-sql.ts';
import {
  createManagedEndpointLoader,
  createOwnEndpointLoader,
  endpointDisabledError,
  REQUEST_RATE_LIMIT,
  requireCallerId,
  requireEnabledEndpoint,
  serializeLoadedEndpoint,
} from './endpoint-access.ts';
import { type DeliverySerializer, deliveryShape } from './serialize-delivery.ts';

const DEFAULT_LIMIT = 50;

const MAX_LIMIT = 100;

/** The query of the delivery log. */
const logQueryShape = z.object({
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
  return Buffer.from(row.slice(-positionLengthOf(status)).join(' ')).toString('base64url');
}

/** @throws ApiError BAD_REQUEST if no page of a list with this status has returned the cursor */
function decodePosition(cursor: string, status: DeliveryStatus | undefined): readonly string[] {
  const values = Buffer.from(cursor.slice(0, 200), 'base64url').toString('latin1').split(' ');
  const isValid =
    values.length === positionLengthOf(status) &&
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

/** ms for a worker to claim a requested delivery (up to three seconds if it holds the endpoint's lease) and to write the result. */
const MARGIN_MS = 4000;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;

/** Maximum number of tries to change a delivery that concurrent statements keep moving. After that, it is returned unchanged. */
const MAX_CHANGE_TRIES = 20;

/** Waits until a delivery was attempted, and returns its row. `hasClientLeft` returns whether the client has closed the connection. */
type AwaitAttempt = (id: string, endpointId: string, hasClientLeft: () => boolean) => Promise<DeliveryRow>;

/**
 * Creates the function that waits for attempts. It polls the row at growing intervals, which works whichever worker makes the attempt, and
 * without Redis. It rejects with NOT_FOUND if the delivery is deleted meanwhile.
 */
function createAttemptWaiter(
  database: Database,
  settings: Pick<WebhookSettings, 'timeoutMs' | 'keepDeliveriesDays'>,
): AwaitAttempt {
  const { timeoutMs } = settings;
  const text = readDeliverySql(isKeptSql(settings));
  return async (id, endpointId, hasClientLeft) => {
    const end = performance.now() + timeoutMs + MARGIN_MS;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
      await sleep(pause);
      const statement = { name: 'webhook_delivery', text, values: [id, endpointId, earliestFinishOf([id])] };
      const [row] = await database.read<DeliveryRow>(statement);
      if (row === undefined) throw new ApiError('NOT_FOUND');
      const [, , , status, attempts] = row;
      const isAttempted = attempts > 0 && status !== 'sending';
      if (isAttempted || hasClientLeft() || performance.now() >= end) return row;
    }
  };
}

/** The routes of an endpoint's deliveries: the log, tests and retries. */
export function deliveryRoutes(
  host: Host,
  settings: WebhookSettings,
  limits: KeyLimits,
  { serializeDeliveries: serializeRows, readableBodies }: DeliverySerializer,
): Route[] {
  const { database, queues, tracing } = host;
  const awaitAttempt = createAttemptWaiter(database, settings);
  const isKept = isKeptSql(settings);
  const readText = readDeliverySql(isKept);
  const [refuseText, sendAgainText] = [refuseDeliverySql(isKept), sendAgainSql(isKept)];
  const common = { policy: settings.policy, tags: ['webhooks'] };
  const load = createManagedEndpointLoader(database, limits);

  const callerAudienceOf = (ctx: RouteContext): Audience => ({
    owner: requireCallerId(ctx),
    scope: serializeLoadedEndpoint(ctx).scope,
    key: isApiKey(ctx.auth) ? ctx.auth : undefined,
  });
  const serializeDeliveryRow = async (ctx: RouteContext, row: DeliveryRow) =>
    (await serializeRows(callerAudienceOf(ctx), [row]))[0]!;

  async function listDeliveries(ctx: RouteContext) {
    const { status, event, limit, after } = readLogQuery(ctx.query);
    const { id } = serializeLoadedEndpoint(ctx);
    const text = listDeliveriesSql({ status, byType: event !== undefined, isContinued: after !== undefined }, isKept);
    const values = [id, limit + 1, ...(event === undefined ? [] : [event]), ...(after ?? [])];
    // Few deliveries may have the name of the event, so that the search for them reads much of the log.
    const found = await (event === undefined
      ? database.read<DeliveryRow>({ text, values })
      : database.readSlowly<DeliveryRow>({ text, values }));
    const rows = found.slice(0, limit);
    const next = found.length > limit ? encodePosition(rows.at(-1)!, status) : null;
    return withMeta(await serializeRows(callerAudienceOf(ctx), rows), { limit, next });
  }

  async function sendTest(ctx: RouteContext) {
    const { id: endpointId } = await requireEnabledEndpoint(settings, ctx);
    const id = newId();
    const timestamp = new Date().toISOString();
    const body = JSON.stringify({ type: TEST_EVENT, timestamp, data: { webhook: endpointId } });
    const values = [id, endpointId, generateMessageId(), body, tracing.current()];
    const inserted = await database.write({ text: INSERT_TEST, values });
    // The endpoint was disabled or deleted a moment ago.
    if (inserted.length === 0) throw endpointDisabledError();
    await requestDelivery(database, queues, { id: endpointId, owner: requireCallerId(ctx) }, id);
    return serializeDeliveryRow(ctx, await awaitAttempt(id, endpointId, () => ctx.res.closed));
  }

  /**
   * Runs a statement that changes a delivery. A delivery that is being sent does not change.
   *
   * @param key the delivery, its endpoint, and the result of `earliestFinishOf`
   * @throws ApiError NOT_FOUND if there is no such delivery
   */
  async function changeDelivery(text: string, key: unknown[], more: unknown[] = []): Promise<DeliveryRow> {
    for (let tries = 1; ; tries += 1) {
      const [changed] = await database.write<DeliveryRow>({ text, values: [...key, ...more] });
      if (changed !== undefined) return changed;
      // A concurrent statement may have moved the delivery to or from the log meanwhile. A read finds it in either table.
      const [found] = await database.write<DeliveryRow>({ text: readText, values: key });
      if (found === undefined) throw new ApiError('NOT_FOUND');
      const [, , , status] = found;
      if (status === 'sending' || tries === MAX_CHANGE_TRIES) return found;
    }
  }

  async function retryDelivery(ctx: RouteContext) {
    const { id: endpointId } = await requireEnabledEndpoint(settings, ctx);
    const { deliveryId } = ctx.params;
    if (!isId(deliveryId)) throw new ApiError('NOT_FOUND');
    const values = [deliveryId, endpointId, earliestFinishOf([deliveryId])];
    if (isApiKey(ctx.auth)) {
      const statement = { name: 'webhook_delivery', text: readText, values };
      const [found] = await database.read<DeliveryRow>(statement);
      if (found === undefined) throw new ApiError('NOT_FOUND');
      limits.assertKeyMayReadEvents(ctx.auth, [found[1]]);
    }
    const isReadable = (await readableBodies(callerAudienceOf(ctx), [deliveryId])).has(deliveryId);
    const row = isReadable
      ? await changeDelivery(sendAgainText, values)
      : await changeDelivery(refuseText, values, [NOT_READABLE]);
    const delivery = await serializeDeliveryRow(ctx, row);
    const endpoint = { id: endpointId, owner: requireCallerId(ctx) };
    // Not always the requested delivery: another one of the same event may already wait.
    if (delivery.status === 'pending') await requestDelivery(database, queues, endpoint, delivery.id);
    return delivery;
  }

  return [
    {
      ...common,
      load: createOwnEndpointLoader(database),
      method: 'GET',
      path: '/webhooks/:id/deliveries',
      summary: 'Recent deliveries, newest first',
      paged: true,
      queryShape: logQueryShape,
      errors: ['NOT_FOUND'],
      operationId: 'listWebhookDeliveries',
      output: deliveryShape.array(),
      handler: listDeliveries,
    },
    {
      ...common,
      load,
      method: 'POST',
      path: '/webhooks/:id/test',
      summary: `Send a ${TEST_EVENT} event now`,
      description:
        'The response waits for the attempt, at most until the time-out. If no worker has made the attempt by then, the delivery ' +
        'is still pending. A test has one attempt. If it fails, it does not count towards disabling the endpoint.',
      rateLimit: REQUEST_RATE_LIMIT,
      output: deliveryShape,
      errors: ['BAD_REQUEST', 'FORBIDDEN', 'NOT_FOUND'],
      operationId: 'testWebhook',
      handler: sendTest,
    },
    {
      ...common,
      load,
      method: 'POST',
      path: '/webhooks/:id/deliveries/:deliveryId/retry',
      summary: 'Send a delivery again now',
      description:
        'Uses the same message id and restarts the retry schedule. The response does not wait for the attempt. If the owner of the ' +
        'endpoint may no longer read the record, nothing is sent and the delivery fails at once. A delivery that waits for its next ' +
        'attempt is sent now instead. A delivery that is being sent does not change.',
      rateLimit: REQUEST_RATE_LIMIT,
      output: deliveryShape,
      errors: ['BAD_REQUEST', 'FORBIDDEN', 'NOT_FOUND'],
      operationId: 'retryWebhookDelivery',
      handler: retryDelivery,
    },
  ];
}
