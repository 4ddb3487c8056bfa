import { verifyWebhook, WebhookVerificationError } from '@belfry/verify-webhook';
import { defineExtension, type Extension } from '../../extension/index.ts';
import { webhookBackfills, webhookEventLog } from './backfill-tables.ts';
import type { FindVerificationError } from './console/receiver.ts';
import { createWebhooksTab } from './console/tab.ts';
import { encryptedDeliveryColumns } from './deliveries/stored-body.ts';
import { createAlertComposers } from './endpoints/alert-mails.ts';
import { createRevocationStep } from './endpoints/disabling.ts';
import { encryptedHeaders } from './endpoints/headers.ts';
import {
  CREATED_MAIL,
  createEndpointCreatedComposer,
  createEndpointDisabledComposer,
  DISABLED_MAIL,
} from './endpoints/mails.ts';
import { encryptedSecrets } from './endpoints/signing.ts';
import { createBackfillStarter, type StartBackfill } from './engine/backfill/backfills.ts';
import { startWebhookWorkers } from './engine/delivery/worker.ts';
import { encryptedEvents } from './engine/fanout/event-log.ts';
import { createFanOut } from './engine/fanout/fan-out.ts';
import { createEventPublisher, type WebhookPublisher } from './engine/fanout/publish.ts';
import { encryptedRecords } from './engine/readability/deleted-records.ts';
import { createRecoverFailed, type RecoverFailed } from './engine/recovery/recoveries.ts';
import { createWebhookPanel } from './monitoring/account-panel.ts';
import { createEndpointDiagnosis } from './monitoring/diagnosis.ts';
import { createWebhookMetrics } from './monitoring/metrics.ts';
import { createDeliveryBacklog, type StatusReader } from './monitoring/status.ts';
import { createApiRoutes, createParts } from './parts.ts';
import { refusePortalLink } from './portal/info.ts';
import { type CreatePortalLink, createRouteTest } from './portal/links.ts';
import { portalPageRoutes } from './portal/page-files.ts';
import { type EventDeclarations, listSentEvents, reportTakenEventNames } from './settings/events.ts';
import { normalizePortalOption } from './settings/portal-settings.ts';
import { fillProductionDefaults, type WebhookOptions, webhookSettings } from './settings/settings.ts';
import { createSweeps } from './sweeps.ts';
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
  backfill: StartBackfill;
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
  webhook_event_log: webhookEventLog,
  webhook_backfills: webhookBackfills,
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
      const parts = createParts(host, settings);
      const { users, owners, limits, deleted, check, deliverySerializer, recoveries, status, access, links } = parts;
      const publishEvent = createEventPublisher(host, settings.events);
      const metrics = createWebhookMetrics(host, status);
      const { portal } = settings;
      const routes = createApiRoutes(host, settings, parts);
      const { tab, pages } = createWebhooksTab(host, { ...parts, settings, routes, findVerificationError });
      return {
        routes,
        pages: [...pages, ...(portal === undefined ? [] : portalPageRoutes(portal))],
        authenticators: portal === undefined ? [] : [links.createAuthenticator(createRouteTest(routes))],
        consoleTabs: [tab],
        consumers: [createFanOut(host, owners, settings, deleted, limits, parts.eventLog)],
        sweeps: createSweeps(host, settings, parts),
        encrypted: [
          ...encryptedSecrets,
          ...encryptedDeliveryColumns,
          encryptedRecords,
          encryptedHeaders,
          encryptedEvents,
        ],
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
          backfill: createBackfillStarter(parts.backfills),
          portalLink: portal === undefined ? refusePortalLink : links.createLink,
          publish: publishEvent as WebhookPublisher<E>['publish'],
        },
        checkConfig(errors) {
          reportTakenEventNames(settings.events, host.resources, errors);
          const error = access.findConfigError();
          if (error !== undefined) errors.at('webhooks.organisationPolicy').report(error);
        },
        workers: {
          'webhook-worker': () => startWebhookWorkers(host, owners, settings, metrics, check),
          // A stopping server waits until all responses have ended, so the waiting polls must end here.
          web: () => ({ stop: async () => parts.polls.waits.stop() }),
        },
      };
    },
  });
}
