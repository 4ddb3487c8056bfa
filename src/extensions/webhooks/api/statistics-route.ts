import type { Host, Route } from '../../../extension/index.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { endpointStatisticsShape, readEndpointStatistics } from '../statistics/endpoint-statistics.ts';
import { createOwnEndpointLoader, serializeLoadedEndpoint } from './endpoint-access.ts';
import type { EndpointAccess } from './organisation-endpoints.ts';

/** The route of an endpoint's statistics. */
export function statisticsRoute(
  { database }: Pick<Host, 'database'>,
  settings: Pick<WebhookSettings, 'policy'>,
  access: EndpointAccess,
): Route {
  return {
    policy: settings.policy,
    tags: ['webhooks'],
    organisationKeys: true,
    load: createOwnEndpointLoader(database, access),
    method: 'GET',
    path: '/webhooks/:id/statistics',
    summary: 'Get the statistics of a webhook endpoint',
    description:
      'Deliveries by result, and how long attempts took. A delivery counts in the hour in which it succeeded or failed in all ' +
      'attempts. Tests count; deliveries that were not sent because the owner may not read the record do not.',
    output: endpointStatisticsShape,
    errors: ['NOT_FOUND'],
    operationId: 'readWebhookStatistics',
    handler: (ctx) => readEndpointStatistics(database, serializeLoadedEndpoint(ctx).id),
  };
}
