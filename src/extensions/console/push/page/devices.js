import {
  DataTable,
  hrefOf,
  html,
  Loaded,
  Nothing,
  Page,
  Pager,
  place,
  ReferencePicker,
  Status,
  setParams,
  Time,
  useLoaded,
  userResource,
} from 'belfry/console';
import { PLATFORMS, PUSH, UserLink } from './outcome.js';

/** The interval in ms at which the list is read. */
const READ_EVERY_MS = 3000;
const FILTERS = ['user', 'platform', 'after'];

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

function Filters() {
  const { params } = place.value;
  const users = userResource();
  return html`<div class="push-filters" role="search" aria-label="Filter the devices">
    <label>Platform
      <select
        value=${params.get('platform') ?? ''}
        onChange=${(event) => setParams({ platform: event.target.value, after: undefined })}
      >
        <option value="">All platforms</option>
        ${Object.entries(PLATFORMS).map(([name, label]) => html`<option key=${name} value=${name}>${label}</option>`)}
      </select>
    </label>
    ${
      users &&
      html`<div class="form-field">
        <label for="push-user">User</label>
        <${ReferencePicker}
          id="push-user"
          resource=${users.name}
          value=${params.get('user')}
          onChange=${(id) => setParams({ user: id ?? undefined, after: undefined })}
        />
      </div>`
    }
    ${
      (params.has('user') || params.has('platform')) &&
      html`<button type="button" onClick=${() => setParams({ user: undefined, platform: undefined, after: undefined })}>Clear</button>`
    }
  </div>`;
}

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
  const { params } = place.value;
  const query = new URLSearchParams(FILTERS.flatMap((name) => (params.has(name) ? [[name, params.get(name)]] : [])));
  const list = useLoaded(hrefOf('/push/devices', query), { everyMs: READ_EVERY_MS });
  return html`<${Page} title="Devices" intro="Phones and browsers that receive push messages, newest first.">
    <${Filters} />
    <${Loaded} from=${list}>
      ${(devices) =>
        devices.length === 0
          ? html`<${NoDevices} isFiltered=${query.size > 0} />`
          : html`<${DataTable} label="Devices" rows=${devices} columns=${COLUMNS} />`}
    <//>
    <${Pager} next=${list.meta.next} />
  <//>`;
}
