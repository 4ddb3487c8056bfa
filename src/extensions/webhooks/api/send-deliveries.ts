import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, type Database, type Host, isId, newId, type RouteContext } from '../../../extension/index.ts';
import { earliestFinishSql, isKeptSql } from '../deliveries/deliveries-sql.ts';
import { generateMessageId } from '../deliveries/message.ts';
import { announcePolledEndpoints, requestDelivery } from '../endpoints/endpoint-jobs.ts';
import { isApiKey, type KeyLimits } from '../endpoints/key-limits.ts';
import { NOT_READABLE } from '../engine/readability/readability.ts';
import { TEST_EVENT } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { type DeliveryRow, INSERT_TEST, readDeliverySql, refuseDeliverySql, sendAgainSql } from './delivery-log-sql.ts';
import {
  endpointDisabledError,
  getCallerAudience,
  requireEnabledEndpoint,
  requireOwnerId,
  serializeLoadedEndpoint,
} from './endpoint-access.ts';
import type { DeliverySerializer } from './serialize-delivery.ts';

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
 * without Redis. It rejects with NOT_FOUND if the delivery is deleted before.
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
      const statement = { name: 'webhook_delivery', text, values: [id, endpointId, earliestFinishSql([id])] };
      const [row] = await database.read<DeliveryRow>(statement);
      if (row === undefined) throw new ApiError('NOT_FOUND');
      const [, , , status, attempts] = row;
      const isAttempted = attempts > 0 && status !== 'sending';
      if (isAttempted || hasClientLeft() || performance.now() >= end) return row;
    }
  };
}

/** Makes a worker send a delivery now; the receiver of a polled endpoint fetches it. */
async function sendNow(
  { database, queues }: Pick<Host, 'database' | 'queues'>,
  ctx: RouteContext,
  deliveryId: string,
): Promise<void> {
  const { id, delivery } = serializeLoadedEndpoint(ctx);
  if (delivery === 'poll') announcePolledEndpoints(queues, [id]);
  else await requestDelivery(database, queues, { id, owner: requireOwnerId(ctx) }, deliveryId);
}

type Serializer = Pick<DeliverySerializer, 'serializeDeliveries' | 'readableBodies'>;

async function serializeRow({ serializeDeliveries }: Serializer, ctx: RouteContext, row: DeliveryRow) {
  return (await serializeDeliveries(getCallerAudience(ctx), [row]))[0]!;
}

/** Creates the handler of requests for a test of an endpoint. It waits for the attempt, unless the endpoint is polled. */
export function createTestSender(
  { database, queues, tracing }: Pick<Host, 'database' | 'queues' | 'tracing'>,
  settings: WebhookSettings,
  serializer: Serializer,
) {
  const awaitAttempt = createAttemptWaiter(database, settings);
  const readText = readDeliverySql(isKeptSql(settings));

  async function readPolledDelivery(id: string, endpointId: string): Promise<DeliveryRow> {
    // From the primary: a replica may not have the new row yet.
    const [row] = await database.write<DeliveryRow>({
      text: readText,
      values: [id, endpointId, earliestFinishSql([id])],
    });
    if (row === undefined) throw new ApiError('NOT_FOUND');
    return row;
  }

  return async (ctx: RouteContext) => {
    const { id: endpointId, delivery } = await requireEnabledEndpoint(settings, ctx);
    const id = newId();
    const timestamp = new Date().toISOString();
    const body = JSON.stringify({ type: TEST_EVENT, timestamp, data: { webhook: endpointId } });
    const values = [id, endpointId, generateMessageId(), body, tracing.current()];
    const inserted = await database.write({ text: INSERT_TEST, values });
    // The endpoint was disabled or deleted a moment ago.
    if (inserted.length === 0) throw endpointDisabledError();
    await sendNow({ database, queues }, ctx, id);
    const row =
      delivery === 'poll'
        ? await readPolledDelivery(id, endpointId)
        : await awaitAttempt(id, endpointId, () => ctx.res.closed);
    return serializeRow(serializer, ctx, row);
  };
}

/** Creates the handler of requests to send a delivery again. */
export function createDeliveryRetrier(
  { database, queues }: Pick<Host, 'database' | 'queues'>,
  settings: WebhookSettings,
  limits: Pick<KeyLimits, 'assertKeyMayReadEvents'>,
  serializer: Serializer,
) {
  const isKept = isKeptSql(settings);
  const readText = readDeliverySql(isKept);
  const [refuseText, sendAgainText] = [refuseDeliverySql(isKept), sendAgainSql(isKept)];

  /**
   * Runs a statement that changes a delivery. A delivery that is being sent does not change.
   *
   * @param key the delivery, its endpoint, and the result of `earliestFinishSql`
   * @throws ApiError NOT_FOUND if there is no such delivery
   */
  async function changeDelivery(text: string, key: unknown[], more: unknown[] = []): Promise<DeliveryRow> {
    for (let tries = 1; ; tries += 1) {
      const [changed] = await database.write<DeliveryRow>({ text, values: [...key, ...more] });
      if (changed !== undefined) return changed;
      // A concurrent statement may have moved the delivery to or from the log. A read finds it in either table.
      const [found] = await database.write<DeliveryRow>({ text: readText, values: key });
      if (found === undefined) throw new ApiError('NOT_FOUND');
      const [, , , status] = found;
      if (status === 'sending' || tries === MAX_CHANGE_TRIES) return found;
    }
  }

  return async (ctx: RouteContext) => {
    const { id: endpointId } = await requireEnabledEndpoint(settings, ctx);
    const { deliveryId } = ctx.params;
    if (!isId(deliveryId)) throw new ApiError('NOT_FOUND');
    const values = [deliveryId, endpointId, earliestFinishSql([deliveryId])];
    if (isApiKey(ctx.auth)) {
      const statement = { name: 'webhook_delivery', text: readText, values };
      const [found] = await database.read<DeliveryRow>(statement);
      if (found === undefined) throw new ApiError('NOT_FOUND');
      limits.assertKeyMayReadEvents(ctx.auth, [found[1]]);
    }
    const isReadable = (await serializer.readableBodies(getCallerAudience(ctx), [deliveryId])).has(deliveryId);
    const row = isReadable
      ? await changeDelivery(sendAgainText, values)
      : await changeDelivery(refuseText, values, [NOT_READABLE]);
    const delivery = await serializeRow(serializer, ctx, row);
    // Not always the requested delivery: another one of the same event may already wait.
    if (delivery.status === 'pending') await sendNow({ database, queues }, ctx, delivery.id);
    return delivery;
  };
}
