import { defineExtension, type Extension, StartupError } from '../../extension/index.ts';
import { createKnownDevicePanel } from './account-panel.ts';
import { createSecurityListeners } from './listeners.ts';
import { createSecurityMailComposers } from './mails.ts';
import { type SecurityMailsOptions, securityMailsSettings } from './settings.ts';
import { knownDevices } from './sql.ts';
import { createKnownDeviceParts } from './user-data.ts';

export type { SecurityMailsOptions } from './settings.ts';

/**
 * Security e-mails: users get an e-mail when their account is used from a new device, and when their password or another way to sign in
 * changes.
 *
 * @example createApp({ resources, extensions: [securityMails({ newDevice: false })] }, process.env)
 */
export function securityMails(options: SecurityMailsOptions = {}): Extension {
  return defineExtension({
    name: 'securityMails',
    tables: { known_devices: knownDevices },
    settings: securityMailsSettings,
    options,
    setup(host, settings) {
      const { users } = host;
      if (users === undefined) {
        throw new StartupError('securityMails() cannot work:', [
          'it needs accounts; declare a user resource with defineUser()',
        ]);
      }
      const { listeners, worker } = createSecurityListeners(host, users, settings);
      // Every process emits events, so every process waits for its listeners before it stops.
      const waitForListeners = () => worker;
      return {
        listeners,
        accountPanels: [createKnownDevicePanel(host.database)],
        mails: createSecurityMailComposers(host, users, settings),
        ...createKnownDeviceParts(host.database, users),
        workers: {
          web: waitForListeners,
          relay: waitForListeners,
          'webhook-worker': waitForListeners,
          'push-worker': waitForListeners,
        },
      };
    },
  });
}
