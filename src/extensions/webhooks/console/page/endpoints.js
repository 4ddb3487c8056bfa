import {
  ActionButton,
  chosenParams,
  FilterForm,
  hrefOf,
  html,
  Listing,
  Nothing,
  Page,
  place,
  SelectFilter,
  Sparkline,
  sentenceCase,
  setParams,
  UserFilter,
  usePages,
} from 'belfry/console';
import { useState } from 'preact/hooks';
import {
  ENDPOINT_STATES,
  EndpointState,
  EventNames,
  endpointHref,
  HOME,
  Owner,
  reasonText,
  summarize,
  UrlText,
  When,
} from './states.js';

const FILTERS = ['q', 'state', 'owner'];

function LastDay({ chart }) {
  const { total, rate } = summarize(chart);
  if (total === 0) return html`<span class="soft">none</span>`;
  const label = `${total} deliveries in the last 24 hours, by hour`;
  return html`<span class="webhooks-rate">
    <span class=${rate !== null && rate < 95 ? 'bad-text' : ''}>${rate === null ? 'waiting' : `${rate}%`}</span>
    <${Sparkline} label=${label} values=${chart.bars.map(({ succeeded, failed, pending }) => succeeded + failed + pending)} width=${72} />
  </span>`;
}

function LastResults({ endpoint: { lastSuccessAt, lastFailureAt, lastError } }) {
  if (lastSuccessAt === null && lastFailureAt === null) return html`<span class="soft">none yet</span>`;
  return html`
    ${lastSuccessAt !== null && html`<span class="webhooks-line">succeeded <${When} value=${lastSuccessAt} /></span>`}
    ${lastFailureAt !== null && html`<span class="webhooks-line">failed <${When} value=${lastFailureAt} /></span>`}
    ${lastFailureAt !== null && lastError !== null && html`<span class="soft webhooks-note">${lastError}</span>`}
  `;
}

/** What the state of an endpoint means, where its name does not say it. */
function titleOf(state, disabledReason) {
  if (state === 'retrying') return 'Deliveries wait for another attempt';
  return state === 'disabled' ? reasonText(disabledReason) : undefined;
}

const COLUMNS = [
  {
    name: 'url',
    label: 'Endpoint',
    render: ({ id, url, description }) => html`<a href=${endpointHref(id)}><${UrlText} url=${url} /></a>
      ${description && html`<span class="soft webhooks-note">${description}</span>`}`,
  },
  {
    name: 'state',
    label: 'Status',
    render: ({ state, disabledReason }) =>
      html`<span title=${titleOf(state, disabledReason)}><${EndpointState} state=${state} /></span>`,
  },
  { name: 'owner', label: 'Owner', render: ({ owner }) => html`<${Owner} id=${owner} />` },
  {
    name: 'events',
    label: 'Events',
    render: ({ events, scope }) =>
      html`<${EventNames} names=${events} most=${2} />${scope === 'global' && html` <span class="chip">Global</span>`}`,
  },
  { name: 'lastDay', label: 'Last 24 hours', render: ({ lastDay }) => html`<${LastDay} chart=${lastDay} />` },
  { name: 'last', label: 'Last results', render: (endpoint) => html`<${LastResults} endpoint=${endpoint} />` },
];

function Filters() {
  const { params } = place.value;
  const [text, setText] = useState(params.get('q') ?? '');
  return html`<${FilterForm} kind="webhooks-filters" label="Filter the endpoints" clears=${FILTERS} onClear=${() => setText('')}>
    <label>URL contains
      <input type="search" value=${text} placeholder="any" onInput=${(event) => setText(event.target.value)} onChange=${(event) => setParams({ q: event.target.value.trim() })} />
    </label>
    <${SelectFilter} name="state" label="Status" all="All statuses" options=${ENDPOINT_STATES.map((state) => [state, sentenceCase(state)])} />
    <${UserFilter} name="owner" label="Owner" />
  <//>`;
}

function NoEndpoints({ isFiltered }) {
  if (isFiltered) return html`<${Nothing} title="No endpoint matches"><p>Change or clear the filters.</p><//>`;
  return html`<${Nothing} title="No endpoint yet">
    <p>An endpoint is a URL to which events are sent. Users register theirs with <code>POST /api/webhooks</code>, or you create one for them.</p>
  <//>`;
}

/** The endpoints of all users. */
export function EndpointsPage() {
  const query = chosenParams(FILTERS);
  const list = usePages(hrefOf('/webhooks/endpoints', query));
  return html`<${Page}
    title="Endpoints"
    intro="The URLs to which events are sent, newest first."
    actions=${html`<${ActionButton} run=${list.reload}>Refresh<//><a class="button primary" href=${`${HOME}/endpoints/new`}>Create an endpoint</a>`}
  >
    <${Filters} />
    <${Listing} from=${list} label="Endpoints" columns=${COLUMNS} empty=${html`<${NoEndpoints} isFiltered=${query.size > 0} />`} />
  <//>`;
}
