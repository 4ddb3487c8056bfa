import { verifyWebhook, WebhookVerificationError } from '@belfry/verify-webhook';
import {
  type Accounts,
  defineExtension,
  type Extension,
  type ExtensionHost,
  type Route,
  StartupError,
} from '../../extension/index.ts';
import { withTranslatedErrors } from './api/attempt-errors.ts';
import { deliveryRoutes } from './api/delivery-routes.ts';
import { endpointRoutes } from './api/endpoint-routes.ts';
import { eventCatalogueRoutes } from './api/event-catalogue.ts';
import { explainRoute } from './api/explain.ts';
import { filterTestRoute } from './api/filter-test.ts';
import { createEndpointAccess, type EndpointAccess } from './api/organisation-endpoints.ts';
import { recoveryRoutes } from './api/recovery-routes.ts';
import { createDeliverySerializer, type DeliverySerializer } from './api/serialize-delivery.ts';
import type { FindVerificationError } from './console/receiver.ts';
import { createWebhooksTab } from './console/tab.ts';
import { encryptedDeliveryColumns } from './deliveries/stored-body.ts';
import { createAlertComposers } from './endpoints/alert-mails.ts';
import { createDisabledNotifier, createEndedKeysSweep, createRevocationStep } from './endpoints/disabling.ts';
import { encryptedHeaders } from './endpoints/headers.ts';
import { createKeyLimits, type KeyLimits } from './endpoints/key-limits.ts';
import {
  CREATED_MAIL,
  createEndpointCreatedComposer,
  createEndpointDisabledComposer,
  DISABLED_MAIL,
} from './endpoints/mails.ts';
import { createEndpointOwners, type EndpointOwners } from './endpoints/owners.ts';
import { encryptedSecrets } from './endpoints/signing.ts';
import { createResultWriter } from './engine/delivery/record-results.ts';
import { startWebhookWorkers } from './engine/delivery/worker.ts';
import { createFanOut } from './engine/fanout/fan-out.ts';
import { createEventPublisher, createEventRetentionSweep, type WebhookPublisher } from './engine/fanout/publish.ts';
import { createDeletedRecords, encryptedRecords } from './engine/readability/deleted-records.ts';
import { createReadabilityCheck } from './engine/readability/readability.ts';
import { createPendingEndpoints } from './engine/recovery/pending-endpoints.ts';
import { createReclaimSweeps } from './engine/recovery/reclaim.ts';
import {
  createRecoverFailed,
  createRecoveries,
  type RecoverFailed,
  type Recoveries,
} from './engine/recovery/recoveries.ts';
import { createRetentionSweeps } from './engine/recovery/retention.ts';
import { createUnknownMentionsSweep } from './engine/recovery/unknown-mentions.ts';
import { createFilterChecks, type FilterChecks } from './filters/check.ts';
import { createWebhookPanel } from './monitoring/account-panel.ts';
import { createWebhookMetrics } from './monitoring/metrics.ts';
import {
  createDeliveryBacklog,
  createEndpointDiagnosis,
  createStatusReader,
  type StatusReader,
} from './monitoring/status.ts';
import { portalBaseUrl, portalInfoRoute, refusePortalLink } from './portal/info.ts';
import { type CreatePortalLink, createPortalLinks, createRouteTest } from './portal/links.ts';
import { portalPageRoutes } from './portal/page-files.ts';
import { type EventDeclarations, listSentEvents, reportTakenEventNames } from './settings/events.ts';
import { normalizePortalOption } from './settings/portal-settings.ts';
import {
  fillProductionDefaults,
  type WebhookOptions,
  type WebhookSettings,
  webhookSettings,
} from './settings/settings.ts';
import {
  endpointLeases,
  webhookDeletedRecords,
  webhookDeliveries,
  webhookDeliveryLog,
  webhookEndpointStats,
  webhookEndpoints,
  webhookEvents,
  webhookRecoveries,
} from './tables.ts';
import { createWebhookUserData } from './user-data/user-data.ts';

/** Operations on webhooks, besides publishing. */
export interface WebhookOperations extends StatusReader {
  recoverFailed: RecoverFailed;
  portalLink: CreatePortalLink;
}

/** `app.webhooks`. */
export type WebhooksApi<E extends EventDeclarations = EventDeclarations> = WebhookPublisher<E> & WebhookOperations;

export type { WebhookOptions } from './settings/settings.ts';

const tables = {
  webhook_endpoints: webhookEndpoints,
  webhook_deliveries: webhookDeliveries,
  webhook_delivery_log: webhookDeliveryLog,
  webhook_deleted_records: webhookDeletedRecords,
  webhook_events: webhookEvents,
  webhook_recoveries: webhookRecoveries,
  webhook_turns: endpointLeases,
  webhook_endpoint_stats: webhookEndpointStats,
};

const findVerificationError: FindVerificationError = (secret, headers, body) => {
  try {
    verifyWebhook(secret, headers, body);
    return undefined;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error;
    throw error;
  }
};

/** The parts of the extension that routes of the API share with the rest of it. */
interface ApiParts {
  limits: KeyLimits;
  filters: FilterChecks;
  deliverySerializer: DeliverySerializer;
  recoveries: Recoveries;
  access: EndpointAccess;
  owners: EndpointOwners;
}

function createApiRoutes(
  host: ExtensionHost,
  accounts: Pick<Accounts, 'holdCredential' | 'confirmNewCredential'>,
  settings: WebhookSettings,
  { limits, filters, deliverySerializer, recoveries, access, owners }: ApiParts,
): Route[] {
  const routes = [
    ...endpointRoutes(host, accounts, settings, limits, access, filters),
    ...eventCatalogueRoutes(host, settings, access),
    ...deliveryRoutes(host, settings, limits, deliverySerializer, access),
    ...recoveryRoutes(host, settings, limits, recoveries, access),
    filterTestRoute(host, settings, limits, filters, deliverySerializer, access),
    explainRoute(host, settings, limits, deliverySerializer, filters, access),
    ...(settings.portal === undefined ? [] : [portalInfoRoute(settings, owners)]),
  ];
  return withTranslatedErrors(access.runForOwners(routes), host);
}

/**
 * Outgoing webhooks: users register URLs, and receive signed messages about changes of records that they may read, and about the events
 * that the app publishes itself.
 *
 * @example createApp({ resources, extensions: [webhooks({ retrySchedule: ['10s', '5m'] })] }, process.env)
 * @example webhooks({ events: { 'invoice.paid': { schema: z.object({ amount: z.number() }) } } })
 */
export function webhooks<const E extends EventDeclarations = Record<never, never>>(
  options: Omit<WebhookOptions, 'events'> & { events?: E } = {},
): Extension<'webhooks', WebhooksApi<E>> {
  return defineExtension({
    name: 'webhooks',
    tables,
    settings: webhookSettings,
    options: { ...options, portal: normalizePortalOption(options.portal ?? false) },
    setup(host, given) {
      const settings = fillProductionDefaults(given, host.env.nodeEnv === 'production');
      const { accounts, users } = host;
      if (accounts === undefined || users === undefined) {
        throw new StartupError('webhooks() cannot work:', [
          'it needs accounts, because endpoints belong to users; see defineUser',
        ]);
      }
      const publishEvent = createEventPublisher(host, settings.events);
      const limits = createKeyLimits(host);
      const owners = createEndpointOwners(host, users, limits);
      const filters = createFilterChecks(host, settings, limits);
      const deleted = createDeletedRecords(host);
      const check = createReadabilityCheck(host, owners, settings, deleted, limits);
      const deliverySerializer = createDeliverySerializer(host, check);
      const pending = createPendingEndpoints(host, owners, settings);
      const recoveries = createRecoveries(host, owners, settings);
      const status = createStatusReader(host, owners, settings);
      const metrics = createWebhookMetrics(host, status);
      const access = createEndpointAccess(host, owners, settings);
      const linkParts = { host, accounts, owners, manages: access.manages };
      const links = createPortalLinks(linkParts, portalBaseUrl(host, settings));
      const holdCredential: Accounts['holdCredential'] = async (ctx, tx) => {
        await accounts.holdCredential(ctx, tx);
        await links.assertHolds(ctx.auth, tx);
      };
      const { portal } = settings;
      const shared = { limits, filters, deliverySerializer, access, owners };
      const routes = createApiRoutes(host, { ...accounts, holdCredential }, settings, { ...shared, recoveries });
      const tabParts = { ...shared, accounts, settings, routes, deleted, status, findVerificationError };
      const { tab, pages } = createWebhooksTab(host, tabParts);
      return {
        routes,
        pages: [...pages, ...(portal === undefined ? [] : portalPageRoutes(portal))],
        authenticators: portal === undefined ? [] : [links.createAuthenticator(createRouteTest(routes))],
        consoleTabs: [tab],
        consumers: [createFanOut(host, owners, settings, deleted, limits)],
        sweeps: [
          ...createReclaimSweeps(host, settings, pending, createResultWriter(host, settings)),
          ...createRetentionSweeps(host, owners, settings, pending),
          createUnknownMentionsSweep(host),
          createEndedKeysSweep(host, limits, createDisabledNotifier(host, settings), settings.pollMs),
          ...recoveries.sweeps,
          createEventRetentionSweep(host, settings),
        ],
        encrypted: [...encryptedSecrets, ...encryptedDeliveryColumns, encryptedRecords, encryptedHeaders],
        accountPanels: [createWebhookPanel(host.database)],
        diagnoses: [createEndpointDiagnosis(host)],
        backlogs: [createDeliveryBacklog(status)],
        userData: createWebhookUserData(host, users, settings, deliverySerializer),
        revocationStep: createRevocationStep(host, settings),
        mails: {
          [DISABLED_MAIL]: createEndpointDisabledComposer(host, owners),
          [CREATED_MAIL]: createEndpointCreatedComposer(host, owners),
          ...createAlertComposers(host, owners),
        },
        sent: listSentEvents(host.resources, settings.events),
        administratorPolicies: [settings.globalPolicy],
        publishEvent,
        api: {
          ...status,
          recoverFailed: createRecoverFailed(recoveries),
          portalLink: portal === undefined ? refusePortalLink : links.createLink,
          publish: publishEvent as WebhookPublisher<E>['publish'],
        },
        checkConfig(errors) {
          reportTakenEventNames(settings.events, host.resources, errors);
          const error = access.findConfigError();
          if (error !== undefined) errors.at('webhooks.organisationPolicy').report(error);
        },
        workers: { 'webhook-worker': () => startWebhookWorkers(host, owners, settings, metrics, check) },
      };
    },
  });
}
