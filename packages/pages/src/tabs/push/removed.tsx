import { DataTable, Loaded, Nothing, Page, type TableColumn, Time, useLoaded } from '../../console/kit.ts';
import { PLATFORMS, PUSH, UserLink } from './outcome.tsx';
import type { RemovedDevice } from './responses.ts';

const COLUMNS: TableColumn<RemovedDevice>[] = [
  {
    name: 'name',
    label: 'Device',
    render: ({ name, platform, token }) => (
      <>
        {name ?? PLATFORMS[platform]}{' '}
        <span class="push-body soft">
          <code>{token}</code>
        </span>
      </>
    ),
  },
  { name: 'user', label: 'User', render: ({ user }) => <UserLink id={user} /> },
  { name: 'reason', label: 'Reason', render: ({ error }) => error ?? '–' },
  { name: 'push', label: 'Push', render: ({ push }) => <a href={`${PUSH}/sends/${push}`}>Show</a> },
  { name: 'at', label: 'Failed', render: ({ failedAt }) => <Time value={failedAt} /> },
];

/** Devices that are no longer registered, with the failure that led to it. */
export function RemovedPage() {
  const list = useLoaded<RemovedDevice[]>('/push/removed-devices');
  return (
    <Page
      title="Removed devices"
      intro="Devices that newer pushes failed to reach and that are no longer registered. Belfry removes a device when its provider reports that it is gone, such as after the app was uninstalled."
    >
      <Loaded from={list}>
        {(devices) =>
          devices.length === 0 ? (
            <Nothing title="No device was removed">
              <p>
                Devices appear here after their provider has refused a push because the app was uninstalled or the token
                is invalid.
              </p>
            </Nothing>
          ) : (
            <DataTable label="Removed devices" rows={devices} columns={COLUMNS} />
          )
        }
      </Loaded>
    </Page>
  );
}
