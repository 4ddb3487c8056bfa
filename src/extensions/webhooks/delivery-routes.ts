import type { Host } from '../../declare/host.ts';
import { allows } from '../../declare/policy.ts';
import type { Route, RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/errors.ts';
import { isId, newId } from '../../platform/ids.ts';
import { askFor } from './asked.ts';
import { createAttempted } from './attempted.ts';
import { type DeliveryRow, showDelivery } from './delivery.ts';
import { showEndpoint } from './endpoint.ts';
import { TEST_EVENT } from './event-names.ts';
import { logQueryShape, readLogQuery } from './input.ts';
import { newMessageId } from './message-id.ts';
import { deliveryShape } from './output.ts';
import { readOwn } from './own-endpoint.ts';
import type { WebhookSettings } from './settings.ts';
import { INSERT_TEST, listDeliveries, SEND_AGAIN } from './sql/deliveries.ts';

/** Of each client, on `test` and on `retry`. */
const ASKING = { limit: 10, windowMs: 60_000 };

/** The routes of an endpoint's deliveries: the log, and sending at once what somebody asks for. */
export function deliveryRoutes(host: Host, settings: WebhookSettings): Route[] {
  const { database, queues } = host;
  const attempted = createAttempted(database, settings);
  const common = { policy: settings.policy, tags: ['webhooks'] };

  async function list(ctx: RouteContext) {
    const { status, limit } = readLogQuery(ctx.query);
    const [id] = await readOwn(database, ctx);
    const rows = await database.read<DeliveryRow>({ text: listDeliveries(status), values: [id, limit] });
    return rows.map(showDelivery);
  }

  /**
   * The id of the caller's endpoint, to which something is to be sent now.
   *
   * @throws ApiError NOT_FOUND; BAD_REQUEST when it is disabled; FORBIDDEN when it is global and its owner may not have that any more
   */
  async function openEndpoint(ctx: RouteContext): Promise<string> {
    const { id, enabled, scope } = showEndpoint(await readOwn(database, ctx));
    if (!enabled) throw disabledError();
    const { user, req, service } = ctx;
    const args = { user, action: 'webhook', doc: undefined, req, service };
    if (scope === 'global' && !(await allows(settings.globalPolicy, args, false))) {
      throw new ApiError('FORBIDDEN', 'You are not allowed to have a webhook of scope "global"');
    }
    return id;
  }

  async function test(ctx: RouteContext) {
    const endpointId = await openEndpoint(ctx);
    const id = newId();
    const timestamp = new Date().toISOString();
    const body = JSON.stringify({ type: TEST_EVENT, timestamp, data: { webhook: endpointId } });
    const values = [id, endpointId, newMessageId(), body];
    const inserted = await database.write({ text: INSERT_TEST, values });
    // It was disabled or removed a moment ago.
    if (inserted.length === 0) throw disabledError();
    await askFor(queues, id);
    return showDelivery(await attempted(id, endpointId, () => ctx.res.closed));
  }

  async function retry(ctx: RouteContext) {
    const endpointId = await openEndpoint(ctx);
    const { deliveryId } = ctx.params;
    if (!isId(deliveryId)) throw new ApiError('NOT_FOUND');
    const [row] = await database.write<DeliveryRow>({ text: SEND_AGAIN, values: [deliveryId, endpointId] });
    if (row === undefined) throw new ApiError('NOT_FOUND');
    const delivery = showDelivery(row);
    if (delivery.status === 'pending') await askFor(queues, deliveryId);
    return delivery;
  }

  return [
    {
      ...common,
      method: 'GET',
      path: '/webhooks/:id/deliveries',
      summary: 'Recent deliveries, newest first',
      queryShape: logQueryShape,
      errors: ['NOT_FOUND'],
      operationId: 'listWebhookDeliveries',
      output: deliveryShape.array(),
      handler: list,
    },
    {
      ...common,
      method: 'POST',
      path: '/webhooks/:id/test',
      summary: `Send a ${TEST_EVENT} event now`,
      description:
        'It waits for the attempt, at most for the time-out; where no worker made one by then, the delivery is still pending. A test is ' +
        'one attempt, and one that fails does not count towards disabling the endpoint.',
      rateLimit: ASKING,
      output: deliveryShape,
      errors: ['BAD_REQUEST', 'FORBIDDEN', 'NOT_FOUND'],
      operationId: 'testWebhook',
      handler: test,
    },
    {
      ...common,
      method: 'POST',
      path: '/webhooks/:id/deliveries/:deliveryId/retry',
      summary: 'Send a delivery again now',
      description:
        'With the same message id and a fresh schedule; it does not wait for the attempt. One that waits for its next attempt is sent ' +
        'now instead; one that is being sent stays as it is.',
      rateLimit: ASKING,
      output: deliveryShape,
      errors: ['BAD_REQUEST', 'FORBIDDEN', 'NOT_FOUND'],
      operationId: 'retryWebhookDelivery',
      handler: retry,
    },
  ];
}

function disabledError(): ApiError {
  return new ApiError('BAD_REQUEST', 'The webhook is disabled; enable it first');
}
