import {
  chosenParams,
  FilterForm,
  hrefOf,
  Listing,
  Nothing,
  Page,
  SelectFilter,
  Status,
  type TableColumn,
  Time,
  UserFilter,
  useLoaded,
} from '../../console/kit.ts';
import { PLATFORMS, PUSH, UserLink } from './outcome.tsx';
import type { Device } from './responses.ts';

/** The interval in ms at which the list is read. */
const READ_EVERY_MS = 3000;
const FILTERS = ['user', 'platform'];

const STATES = {
  'signed-in': ['good', 'signed in'],
  unbound: ['good', 'registered'],
  expired: ['warn', 'session expired'],
} as const;

/** The state of a device. */
export function DeviceState({ state }: Pick<Device, 'state'>) {
  const [kind, text] = STATES[state];
  return <Status kind={kind}>{text}</Status>;
}

const COLUMNS: TableColumn<Device>[] = [
  {
    name: 'name',
    label: 'Device',
    render: ({ id, name, platform, isSimulated }) => (
      <>
        <a href={`${PUSH}/devices/${id}`}>{name ?? PLATFORMS[platform]}</a>{' '}
        {isSimulated && <span class="chip">Simulated</span>}
      </>
    ),
  },
  { name: 'user', label: 'User', render: ({ user }) => <UserLink id={user} /> },
  {
    name: 'platform',
    label: 'Platform',
    render: ({ platform, appVersion }) => (
      <>
        {PLATFORMS[platform]} {appVersion && <span class="soft">{appVersion}</span>}
      </>
    ),
  },
  { name: 'state', label: 'Status', render: ({ state }) => <DeviceState state={state} /> },
  { name: 'seen', label: 'Last seen', render: ({ lastSeenAt }) => <Time value={lastSeenAt} /> },
];

function NoDevices({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Nothing title="No device matches">
        <p>Change or clear the filters.</p>
      </Nothing>
    );
  return (
    <Nothing title="No devices yet">
      <p>
        A device appears here when an app registers it for a signed-in user: <code>POST /api/auth/devices</code> with
        its push token, or <code>client.push.registerWebPush()</code> in a browser.
      </p>
    </Nothing>
  );
}

/** The devices of all users. The filters and the page are in the address. */
export function DevicesPage() {
  const query = chosenParams([...FILTERS, 'after']);
  const list = useLoaded<Device[]>(hrefOf('/push/devices', query), { everyMs: READ_EVERY_MS });
  return (
    <Page title="Devices" intro="Phones and browsers that receive push messages, newest first.">
      <FilterForm kind="push-filters" label="Filter the devices" clears={FILTERS}>
        <SelectFilter name="platform" label="Platform" all="All platforms" options={Object.entries(PLATFORMS)} />
        <UserFilter name="user" label="User" />
      </FilterForm>
      <Listing from={list} label="Devices" columns={COLUMNS} empty={<NoDevices isFiltered={query.size > 0} />} />
    </Page>
  );
}
