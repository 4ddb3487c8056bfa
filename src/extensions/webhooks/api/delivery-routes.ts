import type { Host, Route } from '../../../extension/index.ts';
import type { KeyLimits } from '../endpoints/key-limits.ts';
import { TEST_EVENT } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { endpointStatisticsShape, readEndpointStatistics } from '../statistics/endpoint-statistics.ts';
import { createDeliveryLister, logQueryShape } from './delivery-list.ts';
import {
  createManagedEndpointLoader,
  createOwnEndpointLoader,
  REQUEST_RATE_LIMIT,
  serializeLoadedEndpoint,
} from './endpoint-access.ts';
import type { EndpointAccess } from './organisation-endpoints.ts';
import { createDeliveryRetrier, createTestSender } from './send-deliveries.ts';
import { type DeliverySerializer, deliveryShape } from './serialize-delivery.ts';

/** The routes of an endpoint's deliveries: the log, tests, retries and statistics. */
export function deliveryRoutes(
  host: Host,
  settings: WebhookSettings,
  limits: KeyLimits,
  serializer: DeliverySerializer,
  access: EndpointAccess,
): Route[] {
  const common = { policy: settings.policy, tags: ['webhooks'], organisationKeys: true };
  const load = createManagedEndpointLoader(host.database, limits, access);
  const loadOwn = createOwnEndpointLoader(host.database, access);
  return [
    {
      ...common,
      load: loadOwn,
      method: 'GET',
      path: '/webhooks/:id/deliveries',
      summary: 'Recent deliveries, newest first',
      paged: true,
      queryShape: logQueryShape,
      errors: ['NOT_FOUND'],
      operationId: 'listWebhookDeliveries',
      output: deliveryShape.array(),
      handler: createDeliveryLister(host, settings, serializer),
    },
    {
      ...common,
      load,
      method: 'POST',
      path: '/webhooks/:id/test',
      summary: `Send a ${TEST_EVENT} event now`,
      description:
        'The response waits for the attempt, at most until the time-out. If no worker has made the attempt by then, the delivery ' +
        'is still pending. A test has one attempt. If it fails, it does not count towards disabling the endpoint. For a polled endpoint, the ' +
        'response does not wait.',
      rateLimit: REQUEST_RATE_LIMIT,
      output: deliveryShape,
      errors: ['BAD_REQUEST', 'FORBIDDEN', 'NOT_FOUND'],
      operationId: 'testWebhook',
      handler: createTestSender(host, settings, serializer),
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
      handler: createDeliveryRetrier(host, settings, limits, serializer),
    },
    {
      ...common,
      load: loadOwn,
      method: 'GET',
      path: '/webhooks/:id/statistics',
      summary: 'Get the statistics of a webhook endpoint',
      description:
        'Deliveries by result, and how long attempts took. A delivery counts in the hour in which it succeeded or failed in all ' +
        'attempts. Tests count; deliveries that were not sent because the owner may not read the record do not.',
      output: endpointStatisticsShape,
      errors: ['NOT_FOUND'],
      operationId: 'readWebhookStatistics',
      handler: (ctx) => readEndpointStatistics(host.database, serializeLoadedEndpoint(ctx).id),
    },
  ];
}
