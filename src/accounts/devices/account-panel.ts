import type { AccountPanel } from '../../declare/account-panel.ts';
import type { Database } from '../../platform/data/postgres/database.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { listDevices, removeOwnDevice } from './store.ts';
import { maskToken } from './token.ts';

/** Creates the panel with the devices that receive push notifications. */
export function createDevicePanel(database: Database): AccountPanel {
  return {
    id: 'devices',
    label: 'Push devices',
    columns: [
      { name: 'name', label: 'Name' },
      { name: 'platform', label: 'Platform' },
      { name: 'appVersion', label: 'App version' },
      { name: 'token', label: 'Token', kind: 'code' },
      { name: 'lastSeenAt', label: 'Last registered', kind: 'time' },
    ],
    empty: 'Receives no push notifications. A device appears here as soon as the app registers it.',
    async read(userId) {
      const devices = await listDevices(database, userId);
      return {
        rows: devices.map(({ id, name, platform, appVersion, token, lastSeenAt }) => ({
          id,
          values: { name, platform, appVersion, token: maskToken(platform, token), lastSeenAt },
        })),
      };
    },
    rowActions: [
      {
        id: 'deviceRemoved',
        label: 'Remove',
        confirm: {
          title: 'Remove this device?',
          text: 'It gets no more pushes until the app registers it again. The session of the device stays.',
        },
        isDangerous: true,
        done: 'The device is removed',
        async run({ userId, rowId }) {
          if (!isId(rowId) || !(await removeOwnDevice(database, rowId, userId)))
            throw new ApiError('NOT_FOUND', 'This device has already been removed');
        },
      },
    ],
  };
}
