import {
  ActionButton,
  chosenParams,
  FilterForm,
  hrefOf,
  Listing,
  Nothing,
  Page,
  place,
  SelectFilter,
  sentenceCase,
  setParams,
  type TableColumn,
  useLoaded,
  usePages,
} from '../../console/kit.ts';
import { EndpointChoice, ID } from './endpoint-choice.tsx';
import type { DeliveriesMeta, Delivery, EventSummary } from './responses.ts';
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
} from './states.tsx';

const TEST = 'webhook.test';

const COLUMNS: TableColumn<Delivery>[] = [
  {
    name: 'type',
    label: 'Event',
    render: ({ id, type }) => (
      <a href={`${HOME}/deliveries/${id}`}>
        <EventName name={type} />
      </a>
    ),
  },
  {
    name: 'status',
    label: 'Status',
    render: (delivery) => (
      <>
        <DeliveryState delivery={delivery} />
        {delivery.nextAttemptAt !== null && (
          <span class="soft webhooks-note">
            <When value={delivery.nextAttemptAt} />
          </span>
        )}
      </>
    ),
  },
  {
    name: 'endpoint',
    label: 'Endpoint',
    render: ({ endpoint }) =>
      endpoint && (
        <a href={endpointHref(endpoint.id)}>
          <UrlText url={endpoint.url} />
        </a>
      ),
  },
  { name: 'owner', label: 'Owner', render: ({ endpoint }) => endpoint && <Owner id={endpoint.owner} /> },
  { name: 'outcome', label: 'Last attempt', render: outcomeText },
  { name: 'attempts', label: 'Attempts', isNumber: true, render: ({ attempts }) => attempts },
  { name: 'createdAt', label: 'Created', render: ({ createdAt }) => <When value={createdAt} /> },
];

const COLUMNS_OF_ONE_ENDPOINT = COLUMNS.filter(({ name }) => name !== 'endpoint' && name !== 'owner');
const STATUS_OPTIONS = Object.entries(DELIVERY_STATES).map(([status, text]) => [status, sentenceCase(text)] as const);

/** Limits a list of deliveries, in the address. `hasEndpoint`: whether an endpoint can be chosen. */
function Filters({ hasEndpoint = false }) {
  const { params } = place.value;
  const { data: events = [] } = useLoaded<EventSummary[]>('/webhooks/events');
  const names = [...events.map(({ name }) => name), TEST];
  const chosen = params.get('event');
  const offered = chosen === null || names.includes(chosen) ? names : [chosen, ...names];
  return (
    <FilterForm kind="webhooks-filters" label="Filter the deliveries" clears={['status', 'event', 'endpoint']}>
      <SelectFilter name="status" label="Status" all="All statuses" options={STATUS_OPTIONS} />
      <SelectFilter
        name="event"
        label="Event"
        all="All events"
        options={offered.map((name) => [name, name] as const)}
      />
      {hasEndpoint && (
        <EndpointChoice
          key={params.get('endpoint')}
          value={params.get('endpoint') ?? ''}
          onChange={(text) => (ID.test(text) || text === '') && setParams({ endpoint: text })}
          isCompact={true}
        />
      )}
    </FilterForm>
  );
}

/** The deliveries of one endpoint, with filters. */
export function EndpointDeliveries({ id }: { id: string }) {
  const filters = chosenParams(['status', 'event']);
  const list = usePages<Delivery>(
    hrefOf(`/webhooks/endpoints/${id}/deliveries`, new URLSearchParams([...filters, ['limit', '20']])),
  );
  const why =
    filters.size > 0
      ? 'No delivery matches the filter.'
      : 'Nothing was sent to this endpoint yet. Send a test to see its first delivery.';
  return (
    <>
      <Filters />
      <Listing from={list} label="Deliveries" columns={COLUMNS_OF_ONE_ENDPOINT} empty={<p class="soft">{why}</p>} />
    </>
  );
}

/** The deliveries of all endpoints, or of a chosen one. */
export function DeliveriesPage() {
  const filters = chosenParams(['status', 'event']);
  const chosen = place.value.params.get('endpoint');
  const path =
    chosen === null ? '/webhooks/deliveries' : `/webhooks/endpoints/${encodeURIComponent(chosen)}/deliveries`;
  const list = usePages<Delivery, DeliveriesMeta>(hrefOf(path, filters));
  const isFiltered = filters.size > 0 || chosen !== null;
  const isSearchingOn = list.rows?.length === 0 && list.next !== null;
  const why = isSearchingOn
    ? `None of the newest ${list.meta.searched?.toLocaleString('en')} deliveries matches. Search on, or change the filters.`
    : isFiltered
      ? 'Change or clear the filters.'
      : 'A delivery is created for each event and each endpoint that subscribes to it.';
  return (
    <Page
      title="Deliveries"
      intro="What was sent to the endpoints of all users, newest first."
      actions={<ActionButton run={list.reload}>Refresh</ActionButton>}
    >
      <Filters hasEndpoint={true} />
      <Listing
        from={list}
        label="Deliveries"
        columns={chosen === null ? COLUMNS : COLUMNS_OF_ONE_ENDPOINT}
        empty={
          <Nothing title={isFiltered ? 'No delivery matches' : 'Nothing was sent yet'}>
            <p>{why}</p>
          </Nothing>
        }
      />
    </Page>
  );
}
