import type { Accounts } from '../../declare/accounts.ts';
import type { Extension } from '../../declare/extension.ts';
import { defineExtension } from '../../extension/define-extension.ts';
import { StartupError } from '../../platform/helpers/config-errors.ts';
import { createWebhookPanel } from './account-panel.ts';
import { createWebhooksTab } from './console/tab.ts';
import { createResultWriter } from './delivery/record-results.ts';
import { startWebhookWorkers } from './delivery/worker.ts';
import { createKeyLimits } from './endpoints/access.ts';
import { createDisabledNotifier, createEndedKeysSweep, createRevocationStep } from './endpoints/disabling.ts';
import {
  CREATED_MAIL,
  createEndpointCreatedComposer,
  createEndpointDisabledComposer,
  DISABLED_MAIL,
} from './endpoints/mails.ts';
import { endpointRoutes } from './endpoints/routes.ts';
import { encryptedSecrets } from './endpoints/signing.ts';
import { eventCatalogueRoutes } from './event-catalogue.ts';
import { type EventDeclarations, listSentEvents, reportTakenEventNames } from './events.ts';
import { createFanOut } from './fanout/fan-out.ts';
import { createEventPublisher, createEventRetentionSweep, type WebhooksApi } from './fanout/publish.ts';
import { createDeliverySerializer } from './log/delivery.ts';
import { explainRoute } from './log/explain.ts';
import { deliveryRoutes } from './log/routes.ts';
import { createWebhookMetrics } from './metrics.ts';
import { portalBaseUrl, portalInfoRoute, refusePortalLink } from './portal/info.ts';
import { type CreatePortalLink, createPortalLinks, createRouteTest } from './portal/links.ts';
import { portalPageRoutes } from './portal/page-files.ts';
import { normalizePortalOption } from './portal/settings.ts';
import { createDeletedRecords, encryptedRecords } from './readability/deleted-records.ts';
import { createReadabilityCheck } from './readability/readability.ts';
import { encryptedDeliveryColumns } from './readability/stored-body.ts';
import { createPendingEndpointReader, createReclaimSweeps } from './recovery/reclaim.ts';
import { createRecoverFailed, createRecoveries, type RecoverFailed } from './recovery/recoveries.ts';
import { createRetentionSweeps } from './recovery/retention.ts';
import { recoveryRoutes } from './recovery/routes.ts';
import { fillProductionDefaults, type WebhookOptions, webhookSettings } from './settings.ts';
import { createEndpointDiagnosis, createStatusReader, type StatusReader } from './status.ts';
import {
  endpointLeases,
  webhookDeletedRecords,
  webhookDeliveries,
  webhookDeliveryLog,
  webhookEndpoints,
  webhookEvents,
  webhookRecoveries,
} from './tables.ts';
import { createWebhookUserData } from './user-data.ts';

/** Operations on webhooks, besides publishing: `app.webhooks`. */
export interface WebhookOperations extends StatusReader {
  recoverFailed: RecoverFailed;
  portalLink: CreatePortalLink;
}

export type { WebhookOptions } from './settings.ts';

/**
 * Outgoing webhooks: users register URLs, and receive signed messages about changes of records that they may read, and about the events
 * that the app publishes itself.
 *
 * @example createApp({ resources, extensions: [webhooks({ retrySchedule: ['10s', '5m'] })] }, process.env)
 * @example webhooks({ events: { 'invoice.paid': { schema: z.object({ amount: z.number() }) } } })
 */
export function webhooks<const E extends EventDeclarations = Record<never, never>>(
  options: Omit<WebhookOptions, 'events'> & { events?: E } = {},
): Extension<'webhooks', WebhooksApi<E> & WebhookOperations> {
  return defineExtension({
    name: 'webhooks',
    tables: {
      webhook_endpoints: webhookEndpoints,
      webhook_deliveries: webhookDeliveries,
      webhook_delivery_log: webhookDeliveryLog,
      webhook_deleted_records: webhookDeletedRecords,
      webhook_events: webhookEvents,
      webhook_recoveries: webhookRecoveries,
      webhook_turns: endpointLeases,
    },
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
      const deleted = createDeletedRecords(host);
      const check = createReadabilityCheck(host, users, settings, deleted, limits);
      const deliverySerializer = createDeliverySerializer(host, check);
      const pending = createPendingEndpointReader(host, users, settings);
      const recoveries = createRecoveries(host, users, settings);
      const status = createStatusReader(host, users, settings);
      const metrics = createWebhookMetrics(host, status);
      const links = createPortalLinks(host, accounts, portalBaseUrl(host, settings));
      const holdCredential: Accounts['holdCredential'] = async (ctx, tx) => {
        await accounts.holdCredential(ctx, tx);
        await links.assertHolds(ctx.auth, tx);
      };
      const { portal } = settings;
      const routes = [
        ...endpointRoutes(host, { ...accounts, holdCredential }, settings, limits),
        ...eventCatalogueRoutes(host, settings),
        ...deliveryRoutes(host, settings, limits, deliverySerializer),
        ...recoveryRoutes(host, settings, limits, recoveries),
        explainRoute(host, settings, limits, deliverySerializer),
        ...(portal === undefined ? [] : [portalInfoRoute(settings)]),
      ];
      const tabParts = { users, accounts, settings, routes, limits, deleted, deliverySerializer, status };
      const { tab, pages } = createWebhooksTab(host, tabParts);
      return {
        routes,
        pages: [...pages, ...(portal === undefined ? [] : portalPageRoutes(portal))],
        authenticators: portal === undefined ? [] : [links.createAuthenticator(createRouteTest(routes))],
        consoleTabs: [tab],
        consumers: [createFanOut(host, users, settings, deleted, limits)],
        sweeps: [
          ...createReclaimSweeps(host, settings, pending, createResultWriter(host, settings)),
          ...createRetentionSweeps(host, users, settings, pending),
          createEndedKeysSweep(host, limits, createDisabledNotifier(host, settings), settings.pollMs),
          ...recoveries.sweeps,
          createEventRetentionSweep(host, settings),
        ],
        encrypted: [...encryptedSecrets, ...encryptedDeliveryColumns, encryptedRecords],
        accountPanels: [createWebhookPanel(host.database)],
        diagnoses: [createEndpointDiagnosis(host)],
        userData: createWebhookUserData(host, users, settings, deliverySerializer),
        revocationStep: createRevocationStep(host, settings),
        mails: {
          [DISABLED_MAIL]: createEndpointDisabledComposer(host, users),
          [CREATED_MAIL]: createEndpointCreatedComposer(host, users),
        },
        sent: listSentEvents(host.resources, settings.events),
        administratorPolicies: [settings.globalPolicy],
        publishEvent,
        api: {
          ...status,
          recoverFailed: createRecoverFailed(recoveries),
          portalLink: portal === undefined ? refusePortalLink : links.createLink,
          publish: publishEvent as WebhooksApi<E>['publish'],
        },
        checkConfig: (errors) => reportTakenEventNames(settings.events, host.resources, errors),
        workers: { 'webhook-worker': () => startWebhookWorkers(host, users, settings, metrics, check) },
      };
    },
  });
}
