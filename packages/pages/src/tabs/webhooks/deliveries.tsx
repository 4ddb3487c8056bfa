import {
  ActionButton,
  chosenParams,
  FilterForm,
  hrefOf,
  Listing,
  Nothing,
  Page,
  type PageMeta,
  place,
  SelectFilter,
  sentenceCase,
  setParams,
  type TableColumn,
  useLoaded,
  usePages,
} from '../../console/kit.ts';
import { numberText } from '../../kit/numbers.ts';
import { EndpointChoice, ID } from './endpoint-choice.tsx';
import type { Delivery, EventSummary } from './responses.ts';
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
import { texts } from './texts.ts';

/** The `meta` of a page of deliveries. */
interface DeliveriesMeta extends PageMeta {
  /** The number of deliveries that a page with filters searches. */
  searched?: number;
}
const TEST = 'webhook.test';

const COLUMNS: TableColumn<Delivery>[] = [
  {
    name: 'type',
    label: texts.event,
    render: ({ id, type }) => (
      <a href={`${HOME}/deliveries/${id}`}>
        <EventName name={type} />
      </a>
    ),
  },
  {
    name: 'status',
    label: texts.status,
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
    label: texts.endpoint,
    render: ({ endpoint }) =>
      endpoint && (
        <a href={endpointHref(endpoint.id)}>
          <UrlText url={endpoint.url} />
        </a>
      ),
  },
  { name: 'owner', label: texts.owner, render: ({ endpoint }) => endpoint && <Owner of={endpoint} /> },
  { name: 'outcome', label: texts.deliveries.lastAttempt, render: outcomeText },
  { name: 'attempts', label: texts.deliveries.attempts, isNumber: true, render: ({ attempts }) => attempts },
  { name: 'createdAt', label: texts.deliveries.created, render: ({ createdAt }) => <When value={createdAt} /> },
];

const COLUMNS_OF_ONE_ENDPOINT = COLUMNS.filter(({ name }) => name !== 'endpoint' && name !== 'owner');
const STATUS_OPTIONS = DELIVERY_STATES.map((status) => [status, sentenceCase(texts.deliveryStates[status])] as const);

/** Limits a list of deliveries, in the address. `hasEndpoint`: whether an endpoint can be chosen. */
function Filters({ hasEndpoint = false }) {
  const { params } = place.value;
  const { data: events = [] } = useLoaded<EventSummary[]>('/webhooks/events');
  const names = [...events.map(({ name }) => name), TEST];
  const chosen = params.get('event');
  const offered = chosen === null || names.includes(chosen) ? names : [chosen, ...names];
  return (
    <FilterForm kind="webhooks-filters" label={texts.deliveries.filter} clears={['status', 'event', 'endpoint']}>
      <SelectFilter name="status" label={texts.status} all={texts.allStatuses} options={STATUS_OPTIONS} />
      <SelectFilter
        name="event"
        label={texts.event}
        all={texts.allEvents}
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
  const why = filters.size > 0 ? texts.deliveries.noMatchOfEndpoint : texts.deliveries.noneOfEndpoint;
  return (
    <>
      <Filters />
      <Listing
        from={list}
        label={texts.deliveries.title}
        columns={COLUMNS_OF_ONE_ENDPOINT}
        empty={<p class="soft">{why}</p>}
      />
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
    ? texts.deliveries.searched(numberText(list.meta.searched ?? 0))
    : isFiltered
      ? texts.changeFilters
      : texts.deliveries.noneText;
  return (
    <Page
      title={texts.deliveries.title}
      intro={texts.deliveries.intro}
      actions={<ActionButton run={list.reload}>{texts.refresh}</ActionButton>}
    >
      <Filters hasEndpoint={true} />
      <Listing
        from={list}
        label={texts.deliveries.title}
        columns={chosen === null ? COLUMNS : COLUMNS_OF_ONE_ENDPOINT}
        empty={
          <Nothing title={isFiltered ? texts.deliveries.noMatch : texts.deliveries.none}>
            <p>{why}</p>
          </Nothing>
        }
      />
    </Page>
  );
}
