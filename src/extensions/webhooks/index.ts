import { defineExtension, type Extension } from '../../declare/extension.ts';
import { StartupError } from '../../platform/environment.ts';
import { deliveryRoutes } from './delivery-routes.ts';
import { createDisabledComposer, DISABLED_MAIL } from './disabled-mail.ts';
import { createFanOut } from './fan-out.ts';
import { createWebhookMetrics } from './metrics.ts';
import { createRecovering } from './recover.ts';
import { recoveryRoutes } from './recovery-routes.ts';
import { endpointRoutes } from './routes.ts';
import { readSettings, settingsMistakes, type WebhookOptions } from './settings.ts';
import { encryptedSecrets } from './signing-keys.ts';
import { createStatusReader, type WebhookOperations } from './status.ts';
import { createSweeps } from './sweeps.ts';
import { webhookDeliveries, webhookEndpoints, webhookRecoveries } from './tables.ts';
import { startWebhookWorker } from './worker.ts';

export type { WebhookOptions } from './settings.ts';

/**
 * Outgoing webhooks: users register URLs, and get the changes of the records that they may read, signed.
 *
 * @example createApp({ resources, extensions: [webhooks({ retrySchedule: ['10s', '5m'] })] }, process.env)
 */
export function webhooks(options: WebhookOptions = {}): Extension<'webhooks', WebhookOperations> {
  return defineExtension({
    name: 'webhooks',
    tables: {
      webhook_endpoints: webhookEndpoints,
      webhook_deliveries: webhookDeliveries,
      webhook_recoveries: webhookRecoveries,
    },
    mistakes: () => settingsMistakes(options),
    setup(host) {
      const settings = readSettings(options, host.env.nodeEnv === 'production');
      const { users } = host;
      if (users === undefined) {
        throw new StartupError('webhooks() cannot work:', [
          'endpoints belong to users: it needs accounts, see defineUser',
        ]);
      }
      const recovering = createRecovering(host, users, settings);
      const status = createStatusReader(host, users, settings);
      createWebhookMetrics(host, status);
      return {
        routes: [
          ...endpointRoutes(host, settings),
          ...deliveryRoutes(host, settings),
          ...recoveryRoutes(host, settings, recovering),
        ],
        consumers: [createFanOut(host, users, settings)],
        sweeps: [...createSweeps(host, users, settings), ...recovering.sweeps],
        encrypted: encryptedSecrets,
        mails: { [DISABLED_MAIL]: createDisabledComposer(host, users) },
        api: status,
        workers: { 'webhook-worker': () => startWebhookWorker(host, users, settings) },
      };
    },
  });
}
