import type { Host } from '../../../declare/host.ts';
import type { Route } from '../../../declare/route.ts';
import { ApiError } from '../../../platform/errors.ts';
import { isId } from '../../../platform/ids.ts';
import { type DeliveryRow, showDelivery } from './delivery.ts';
import { createExplain, REASONS } from './explain.ts';
import { explainQueryShape, readExplainQuery } from '../endpoints/input.ts';
import { isKey, type KeyLimits } from '../endpoints/key-limits.ts';
import { explanationShape } from '../endpoints/output.ts';
import { ASKING, loadsOwn, ownEndpoint } from '../endpoints/access.ts';
import type { WebhookSettings } from '../settings.ts';
import type { ShownDeliveries } from './serialize-deliveries.ts';
import { READ_DELIVERY } from './deliveries-sql.ts';

/** The route that tells why an event was or was not delivered. */
export function explainRoute(
  host: Host,
  settings: WebhookSettings,
  limits: KeyLimits,
  shown: Pick<ShownDeliveries, 'readableBodies'>,
): Route {
  const { database } = host;
  const explain = createExplain(host, settings, shown);
  return {
    method: 'GET',
    path: '/webhooks/:id/explain',
    policy: settings.policy,
    tags: ['webhooks'],
    summary: 'Why an event was or was not delivered to a webhook endpoint',
    description:
      'Whether there is a delivery, and when the endpoint was created, are facts. To which events it subscribes, whether it is enabled and what ' +
      'you may read are looked at as they are now. Of an event that you may not have only `not_readable` is told.',
    rateLimit: ASKING,
    load: loadsOwn(database),
    queryShape: explainQueryShape,
    output: explanationShape,
    errors: ['NOT_FOUND'],
    operationId: 'explainWebhookEvent',
    async handler(ctx) {
      const asked = readExplainQuery(ctx.query);
      const endpoint = ownEndpoint(ctx);
      if (!isId(asked)) throw new ApiError('NOT_FOUND');
      const { event, reason, name, deliveryId } = await explain(endpoint, ctx.user!, asked);
      if (name !== undefined && reason !== 'delivered' && isKey(ctx.auth) && !limits.reads(ctx.auth, [name])) {
        return { event, reason: 'not_readable', message: REASONS.not_readable };
      }
      const told = { event, reason, message: REASONS[reason], ...(name === undefined ? {} : { name }) };
      if (deliveryId === undefined) return told;
      const values = [deliveryId, endpoint.id];
      const [row] = await database.read<DeliveryRow>({ name: 'webhook_delivery', text: READ_DELIVERY, values });
      if (row === undefined) throw new ApiError('NOT_FOUND');
      const { id, status, attempts, error } = showDelivery(row, undefined);
      return { ...told, delivery: { id, status, attempts, error } };
    },
  };
}
