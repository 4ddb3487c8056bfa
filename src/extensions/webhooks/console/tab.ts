import type { z } from 'zod';
import type { Accounts, ConsoleRoute, ConsoleTab, ExtensionHost, Route } from '../../../extension/index.ts';
import { withTranslatedErrors } from '../api/attempt-errors.ts';
import { deliveryRoutes } from '../api/delivery-routes.ts';
import type { EventFinder } from '../api/known-events.ts';
import type { EndpointAccess } from '../api/organisation-endpoints.ts';
import { type DeliverySerializer, serializeDelivery } from '../api/serialize-delivery.ts';
import type { KeyLimits } from '../endpoints/key-limits.ts';
import type { EndpointOwners } from '../endpoints/owners.ts';
import type { DeletedRecords } from '../engine/readability/deleted-records.ts';
import type { FilterChecks } from '../filters/check.ts';
import type { StatusReader } from '../monitoring/status.ts';
import { listSentResources, listSubscribableNames } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { createOwnerRoutes } from './as-owner.ts';
import { createConcernsReader } from './concerns.ts';
import { deliveryConsoleRoutes } from './deliveries.ts';
import { endpointConsoleRoutes } from './endpoints.ts';
import { createAdministratorExplainer, explainQuery } from './explain.ts';
import { createReceiver, type FindVerificationError } from './receiver.ts';
import type { Overview, WebhookFacts } from './responses.ts';
import { createDeliveryStatistics, rangeQuery } from './statistics.ts';

/** What the tab shares with the rest of the extension. */
interface WebhooksTabDependencies {
  owners: EndpointOwners;
  access: EndpointAccess;
  accounts: Pick<Accounts, 'confirmNewCredential'>;
  settings: WebhookSettings;
  /** The routes of the API, which the tab carries out for the owners of endpoints. */
  routes: readonly Route[];
  limits: KeyLimits;
  filters: FilterChecks;
  deleted: DeletedRecords;
  deliverySerializer: DeliverySerializer;
  finder: EventFinder;
  status: StatusReader;
  findVerificationError: FindVerificationError;
}

/** The tab of the console for the endpoints and deliveries of all users, and in development the page of its receiver. */
export function createWebhooksTab(
  host: ExtensionHost,
  {
    owners,
    access,
    accounts,
    settings,
    routes,
    limits,
    filters,
    deleted,
    deliverySerializer,
    finder,
    status,
    findVerificationError,
  }: WebhooksTabDependencies,
): { tab: ConsoleTab; pages: Route[] } {
  // The console shows the content of a delivery only on its own page, and encrypted values only on request.
  const withoutContent: DeliverySerializer = {
    ...deliverySerializer,
    serializeDeliveries: async (_, rows) => rows.map((row) => serializeDelivery(row, undefined)),
  };
  const as = createOwnerRoutes(host, owners, [
    ...routes,
    ...deliveryRoutes(host, settings, limits, withoutContent, access),
  ]);
  const statistics = createDeliveryStatistics(host);
  const receiver =
    host.env.nodeEnv === 'production' ? undefined : createReceiver(host, settings, as, findVerificationError);

  const findRoute = (operationId: string) => routes.find((route) => route.operationId === operationId)!;
  const { handler: listEvents } = findRoute('listWebhookEvents');
  const { handler: readEvent, query: eventQuery } = findRoute('readWebhookEvent');

  const ownRoutes: ConsoleRoute[] = [
    {
      method: 'GET',
      path: '/facts',
      handler: (): WebhookFacts => ({
        keepDays: settings.keepDeliveriesDays,
        resources: listSentResources(host.resources).map(({ name }) => name),
        hasReceiver: receiver !== undefined,
        keepEventsDays: settings.keepEventsDays,
        organisationRoles: access.findRoles() ?? null,
        organisationEvents: listSubscribableNames(host.resources, Object.keys(settings.events)).filter(
          access.isSentToOrganisations,
        ),
      }),
    },
    {
      method: 'GET',
      path: '/overview',
      query: rangeQuery,
      async handler({ query }): Promise<Overview> {
        const { range } = query as unknown as z.output<typeof rangeQuery>;
        const [{ endpoints, queue, failed }, recent] = await Promise.all([
          status.status(0),
          statistics.overview(range),
        ]);
        return { endpoints, queue, failed, ...recent };
      },
    },
    {
      method: 'GET',
      path: '/explain',
      query: explainQuery,
      handler: createAdministratorExplainer(host, settings, { as, finder, deleted, limits, filters }),
    },
    { method: 'GET', path: '/events', handler: listEvents },
    { method: 'GET', path: '/event', ...(eventQuery && { query: eventQuery }), handler: readEvent },
  ];

  return {
    tab: {
      id: 'webhooks',
      label: 'Webhooks',
      concerns: createConcernsReader(status),
      routes: withTranslatedErrors(
        [
          ...ownRoutes,
          ...endpointConsoleRoutes(host, settings, as, statistics, accounts, filters),
          ...deliveryConsoleRoutes(host, settings, as, deliverySerializer),
          ...(receiver?.routes ?? []),
        ],
        host,
      ),
    },
    pages: receiver === undefined ? [] : [receiver.page],
  };
}
