import {
  ActionButton,
  DataTable,
  hrefOf,
  html,
  Loaded,
  LoadMore,
  Nothing,
  Page,
  place,
  sentenceCase,
  setParams,
  useLoaded,
  usePages,
} from 'belfry/console';
import { EndpointChoice } from './explain.js';
import {
  DELIVERY_STATES,
  DeliveryState,
  EventName,
  endpointHref,
  HOME,
  Owner,
  outcomeText,
  UrlText,
  When,
} from './states.js';

const TEST = 'webhook.test';

const COLUMNS = [
  {
    name: 'type',
    label: 'Event',
    render: ({ id, type }) => html`<a href=${`${HOME}/deliveries/${id}`}><${EventName} name=${type} /></a>`,
  },
  {
    name: 'status',
    label: 'Status',
    render: (delivery) => html`<${DeliveryState} delivery=${delivery} />
      ${delivery.nextAttemptAt !== null && html`<span class="soft webhooks-note"><${When} value=${delivery.nextAttemptAt} /></span>`}`,
  },
  {
    name: 'endpoint',
    label: 'Endpoint',
    render: ({ endpoint }) => html`<a href=${endpointHref(endpoint.id)}><${UrlText} url=${endpoint.url} /></a>`,
  },
  { name: 'owner', label: 'Owner', render: ({ endpoint }) => html`<${Owner} id=${endpoint.owner} />` },
  { name: 'outcome', label: 'Last attempt', render: outcomeText },
  { name: 'attempts', label: 'Attempts', isNumber: true, render: ({ attempts }) => attempts },
  { name: 'createdAt', label: 'Created', render: ({ createdAt }) => html`<${When} value=${createdAt} />` },
];

/** A table of deliveries. @param {{ rows: any[], isOfOneEndpoint?: boolean }} props */
function DeliveryTable({ rows, isOfOneEndpoint }) {
  const columns = isOfOneEndpoint ? COLUMNS.filter(({ name }) => name !== 'endpoint' && name !== 'owner') : COLUMNS;
  return html`<${DataTable} label="Deliveries" rows=${rows} columns=${columns} />`;
}

const ID = /^[0-9a-f]{24}$/;

/** Limits a list of deliveries, in the address. @param {{ hasEndpoint?: boolean }} props whether an endpoint can be chosen */
function Filters({ hasEndpoint = false }) {
  const { params } = place.value;
  const { data: events = [] } = useLoaded('/webhooks/events');
  const names = [...events.map(({ name }) => name), TEST];
  const chosen = params.get('event') ?? '';
  return html`<form class="webhooks-filters" role="search" aria-label="Filter the deliveries" onSubmit=${(event) => event.preventDefault()}>
    <label>Status
      <select value=${params.get('status') ?? ''} onChange=${(event) => setParams({ status: event.target.value })}>
        <option value="">All statuses</option>
        ${Object.entries(DELIVERY_STATES).map(([status, text]) => html`<option key=${status} value=${status}>${sentenceCase(text)}</option>`)}
      </select>
    </label>
    <label>Event
      <select value=${chosen} onChange=${(event) => setParams({ event: event.target.value })}>
        <option value="">All events</option>
        ${(chosen === '' || names.includes(chosen) ? names : [chosen, ...names]).map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
      </select>
    </label>
    ${
      hasEndpoint &&
      html`<${EndpointChoice}
        key=${params.get('endpoint')}
        value=${params.get('endpoint') ?? ''}
        onChange=${(text) => (ID.test(text) || text === '') && setParams({ endpoint: text })}
        isCompact=${true}
      />`
    }
    ${
      ['status', 'event', 'endpoint'].some((name) => params.has(name)) &&
      html`<button type="button" onClick=${() => setParams({ status: undefined, event: undefined, endpoint: undefined })}>Clear</button>`
    }
  </form>`;
}

/** The parameters of a list of deliveries, from the address. */
function chosenFilters() {
  const { params } = place.value;
  return new URLSearchParams(
    ['status', 'event'].flatMap((name) => (params.has(name) ? [[name, params.get(name)]] : [])),
  );
}

/** The deliveries of one endpoint, with filters. */
export function EndpointDeliveries({ endpoint }) {
  const filters = chosenFilters();
  const list = usePages(
    hrefOf(`/webhooks/endpoints/${endpoint.id}/deliveries`, new URLSearchParams([...filters, ['limit', '20']])),
  );
  return html`<${Filters} />
    <${Loaded} from=${list}>
      ${() =>
        list.rows.length === 0
          ? html`<p class="soft">${filters.size > 0 ? 'No delivery matches the filter.' : 'Nothing was sent to this endpoint yet. Send a test to see its first delivery.'}</p>`
          : html`<${DeliveryTable} rows=${list.rows} isOfOneEndpoint=${true} />`}
    <//>
    <${LoadMore} from=${list} />`;
}

/** The deliveries of all endpoints, or of a chosen one. */
export function DeliveriesPage() {
  const filters = chosenFilters();
  const chosen = place.value.params.get('endpoint');
  const path =
    chosen === null ? '/webhooks/deliveries' : `/webhooks/endpoints/${encodeURIComponent(chosen)}/deliveries`;
  const list = usePages(hrefOf(path, filters));
  const isFiltered = filters.size > 0 || chosen !== null;
  const isSearchingOn = list.rows?.length === 0 && list.next !== null;
  return html`<${Page}
    title="Deliveries"
    intro="What was sent to the endpoints of all users, newest first."
    actions=${html`<${ActionButton} run=${list.reload}>Refresh<//>`}
  >
    <${Filters} hasEndpoint=${true} />
    <${Loaded} from=${list}>
      ${() =>
        list.rows.length > 0
          ? html`<${DeliveryTable} rows=${list.rows} isOfOneEndpoint=${chosen !== null} />`
          : html`<${Nothing} title=${isFiltered ? 'No delivery matches' : 'Nothing was sent yet'}>
              <p>
                ${
                  isSearchingOn
                    ? `None of the newest ${list.meta.searched.toLocaleString('en')} deliveries matches. Search on, or change the filters.`
                    : isFiltered
                      ? 'Change or clear the filters.'
                      : 'A delivery is created for each event and each endpoint that subscribes to it.'
                }
              </p>
            <//>`}
    <//>
    <${LoadMore} from=${list} />
  <//>`;
}
