import {
  chosenParams,
  FilterForm,
  hrefOf,
  html,
  Listing,
  Nothing,
  Page,
  SelectFilter,
  Status,
  Time,
  UserFilter,
  useLoaded,
} from 'belfry/console';
import { PLATFORMS, PUSH, UserLink } from './outcome.js';

/** The interval in ms at which the list is read. */
const READ_EVERY_MS = 3000;
const FILTERS = ['user', 'platform'];

const STATES = {
  'signed-in': ['good', 'signed in'],
  unbound: ['good', 'registered'],
  expired: ['warn', 'session expired'],
};

/** The state of a device. @param {{ state: string }} props */
export function DeviceState({ state }) {
  const [kind, text] = STATES[state];
  return html`<${Status} kind=${kind}>${text}<//>`;
}

const COLUMNS = [
  {
    name: 'name',
    label: 'Device',
    render: ({
      id,
      name,
      platform,
      isSimulated,
    }) => html`<a href=${`${PUSH}/devices/${id}`}>${name ?? PLATFORMS[platform]}</a>
      ${isSimulated && html` <span class="chip">Simulated</span>`}`,
  },
  { name: 'user', label: 'User', render: ({ user }) => html`<${UserLink} id=${user} />` },
  {
    name: 'platform',
    label: 'Platform',
    render: ({ platform, appVersion }) =>
      html`${PLATFORMS[platform]} ${appVersion && html`<span class="soft">${appVersion}</span>`}`,
  },
  { name: 'state', label: 'Status', render: ({ state }) => html`<${DeviceState} state=${state} />` },
  { name: 'seen', label: 'Last seen', render: ({ lastSeenAt }) => html`<${Time} value=${lastSeenAt} />` },
];

function NoDevices({ isFiltered }) {
  if (isFiltered) return html`<${Nothing} title="No device matches"><p>Change or clear the filters.</p><//>`;
  return html`<${Nothing} title="No devices yet">
    <p>
      A device appears here when an app registers it for a signed-in user: <code>POST /api/auth/devices</code> with its push token, or
      ${' '}<code>client.push.registerWebPush()</code> in a browser.
    </p>
  <//>`;
}

/** The devices of all users. The filters and the page are in the address. */
export function DevicesPage() {
  const query = chosenParams([...FILTERS, 'after']);
  const list = useLoaded(hrefOf('/push/devices', query), { everyMs: READ_EVERY_MS });
  return html`<${Page} title="Devices" intro="Phones and browsers that receive push messages, newest first.">
    <${FilterForm} kind="push-filters" label="Filter the devices" clears=${FILTERS}>
      <${SelectFilter} name="platform" label="Platform" all="All platforms" options=${Object.entries(PLATFORMS)} />
      <${UserFilter} name="user" label="User" />
    <//>
    <${Listing} from=${list} label="Devices" columns=${COLUMNS} empty=${html`<${NoDevices} isFiltered=${query.size > 0} />`} />
  <//>`;
}
