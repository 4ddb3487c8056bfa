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
import { richText } from '../../kit/rich-text.ts';
import { PLATFORMS, PUSH, UserLink } from './outcome.tsx';
import type { RegisteredDevice } from './responses.ts';
import { texts } from './texts.ts';

/** The interval in ms at which the list is read. */
const READ_EVERY_MS = 3000;
const FILTERS = ['user', 'platform'];

const KINDS = { 'signed-in': 'good', unbound: 'good', expired: 'warn' } as const;

/** The state of a device. */
export function DeviceState({ state }: Pick<RegisteredDevice, 'state'>) {
  return <Status kind={KINDS[state]}>{texts.deviceList.states[state]}</Status>;
}

const COLUMNS: TableColumn<RegisteredDevice>[] = [
  {
    name: 'name',
    label: texts.device,
    render: ({ id, name, platform, isSimulated }) => (
      <>
        <a href={`${PUSH}/devices/${id}`}>{name ?? PLATFORMS[platform]}</a>{' '}
        {isSimulated && <span class="chip">{texts.simulated}</span>}
      </>
    ),
  },
  { name: 'user', label: texts.user, render: ({ user }) => <UserLink id={user} /> },
  {
    name: 'platform',
    label: texts.platform,
    render: ({ platform, appVersion }) => (
      <>
        {PLATFORMS[platform]} {appVersion && <span class="soft">{appVersion}</span>}
      </>
    ),
  },
  { name: 'state', label: texts.status, render: ({ state }) => <DeviceState state={state} /> },
  { name: 'seen', label: texts.deviceList.lastSeen, render: ({ lastSeenAt }) => <Time value={lastSeenAt} /> },
];

function NoDevices({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Nothing title={texts.deviceList.noMatch}>
        <p>{texts.deviceList.noMatchText}</p>
      </Nothing>
    );
  return (
    <Nothing title={texts.deviceList.none}>
      <p>
        {richText(texts.deviceList.noneText, {
          route: <code>POST /api/auth/devices</code>,
          call: <code>client.push.registerWebPush()</code>,
        })}
      </p>
    </Nothing>
  );
}

/** The devices of all users. The filters and the page are in the address. */
export function DevicesPage() {
  const query = chosenParams([...FILTERS, 'after']);
  const list = useLoaded<RegisteredDevice[]>(hrefOf('/push/devices', query), { everyMs: READ_EVERY_MS });
  return (
    <Page title={texts.devices} intro={texts.deviceList.intro}>
      <FilterForm kind="push-filters" label={texts.deviceList.filter} clears={FILTERS}>
        <SelectFilter
          name="platform"
          label={texts.platform}
          all={texts.deviceList.allPlatforms}
          options={Object.entries(PLATFORMS)}
        />
        <UserFilter name="user" label={texts.user} />
      </FilterForm>
      <Listing from={list} label={texts.devices} columns={COLUMNS} empty={<NoDevices isFiltered={query.size > 0} />} />
    </Page>
  );
}
