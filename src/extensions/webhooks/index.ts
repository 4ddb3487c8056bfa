import { defineExtension, type Extension } from '../../declare/extension.ts';
import { StartupError } from '../../platform/environment.ts';
import { CREATED_MAIL, createCreatedComposer } from './created-mail.ts';
import { createDeletedRecords, encryptedRecords } from './deleted-records.ts';
import { deliveryRoutes } from './delivery-routes.ts';
import { createDisabledComposer, DISABLED_MAIL } from './disabled-mail.ts';
import { endedKeysSweep } from './ended-keys.ts';
import { explainRoute } from './explain-route.ts';
import { createFanOut } from './fan-out.ts';
import { createKeyLimits } from './key-limits.ts';
import { createWebhookMetrics } from './metrics.ts';
import { createDisabledNotifier, createRevocationStep } from './notify-disabled.ts';
import { createOperations, type WebhookOperations } from './operations.ts';
import { createPublish, forgetEvents, type WebhooksApi } from './publish.ts';
import { checkEventNames, type EventDeclarations } from './published-events.ts';
import { createReadability } from './readability.ts';
import { createResultWriter } from './record-results.ts';
import { createRecovering } from './recover.ts';
import { recoveryRoutes } from './recovery-routes.ts';
import { endpointRoutes } from './routes.ts';
import { sentEvents } from './sent-events.ts';
import { completeSettings, type WebhookOptions, webhookSettings } from './settings.ts';
import { createShownDeliveries } from './shown-deliveries.ts';
import { encryptedSecrets } from './signing-keys.ts';
import { createStatusReader } from './status.ts';
import { encryptedBodies, encryptedResponses } from './stored-body.ts';
import { createSweeps } from './sweeps.ts';
import {
  webhookDeletedRecords,
  webhookDeliveries,
  webhookEndpoints,
  webhookEvents,
  webhookRecoveries,
  webhookTurns,
} from './tables.ts';
import { webhookData } from './user-data.ts';
import { startWebhookWorker } from './worker.ts';

export type { WebhookOptions } from './settings.ts';

/**
 * Outgoing webhooks: users register URLs, and get the changes of the records that they may read, signed; and the events that the
 * app publishes itself.
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
      webhook_deleted_records: webhookDeletedRecords,
      webhook_events: webhookEvents,
      webhook_recoveries: webhookRecoveries,
      webhook_turns: webhookTurns,
    },
    settings: webhookSettings,
    options,
    setup(host, given) {
      const settings = completeSettings(given, host.env.nodeEnv === 'production');
      const { accounts, users } = host;
      if (accounts === undefined || users === undefined) {
        throw new StartupError('webhooks() cannot work:', [
          'endpoints belong to users: it needs accounts, see defineUser',
        ]);
      }
      const limits = createKeyLimits(host);
      const deleted = createDeletedRecords(host);
      const check = createReadability(host, users, settings, deleted, limits);
      const shown = createShownDeliveries(host, check);
      const recovering = createRecovering(host, users, settings);
      const status = createStatusReader(host, users, settings);
      const metrics = createWebhookMetrics(host, status);
      return {
        routes: [
          ...endpointRoutes(host, accounts, settings, limits),
          ...deliveryRoutes(host, settings, limits, shown),
          ...recoveryRoutes(host, settings, limits, recovering),
          explainRoute(host, settings, limits, shown),
        ],
        consumers: [createFanOut(host, users, settings, deleted)],
        sweeps: [
          ...createSweeps(host, users, settings, createResultWriter(host, settings)),
          endedKeysSweep(host, limits, createDisabledNotifier(host, settings), settings.pollMs),
          ...recovering.sweeps,
          forgetEvents(host, settings),
        ],
        encrypted: [...encryptedSecrets, encryptedBodies, encryptedResponses, encryptedRecords],
        userData: webhookData(host, users, shown),
        revocationStep: createRevocationStep(host, settings),
        mails: {
          [DISABLED_MAIL]: createDisabledComposer(host, users),
          [CREATED_MAIL]: createCreatedComposer(host, users),
        },
        sent: sentEvents(host.resources, settings.events),
        api: {
          ...createOperations(host, status, recovering),
          publish: createPublish(host, settings.events) as WebhooksApi<E>['publish'],
        },
        checkConfig: (errors) => checkEventNames(settings.events, host.resources, errors),
        workers: { 'webhook-worker': () => startWebhookWorker(host, users, settings, metrics, check) },
      };
    },
  });
}
