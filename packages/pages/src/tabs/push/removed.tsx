import { DataTable, Loaded, Nothing, Page, type TableColumn, Time, useLoaded } from '../../console/kit.ts';
import { PLATFORMS, PUSH, UserLink } from './outcome.tsx';
import type { RemovedDevice } from './responses.ts';
import { texts } from './texts.ts';

const COLUMNS: TableColumn<RemovedDevice>[] = [
  {
    name: 'name',
    label: texts.device,
    render: ({ name, platform, token }) => (
      <>
        {name ?? PLATFORMS[platform]}{' '}
        <span class="push-body soft">
          <code>{token}</code>
        </span>
      </>
    ),
  },
  { name: 'user', label: texts.user, render: ({ user }) => <UserLink id={user} /> },
  { name: 'reason', label: texts.removed.reason, render: ({ error }) => error ?? '–' },
  {
    name: 'push',
    label: texts.removed.push,
    render: ({ push }) => <a href={`${PUSH}/sends/${push}`}>{texts.removed.show}</a>,
  },
  { name: 'at', label: texts.removed.failed, render: ({ failedAt }) => <Time value={failedAt} /> },
];

/** Devices that are no longer registered, with the failure that led to it. */
export function RemovedPage() {
  const list = useLoaded<RemovedDevice[]>('/push/removed-devices');
  return (
    <Page title={texts.removed.title} intro={texts.removed.intro}>
      <Loaded from={list}>
        {(devices) =>
          devices.length === 0 ? (
            <Nothing title={texts.removed.none}>
              <p>{texts.removed.noneText}</p>
            </Nothing>
          ) : (
            <DataTable label={texts.removed.title} rows={devices} columns={COLUMNS} />
          )
        }
      </Loaded>
    </Page>
  );
}
