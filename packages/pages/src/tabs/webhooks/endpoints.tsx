import { useState } from 'preact/hooks';
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
  Sparkline,
  sentenceCase,
  setParams,
  type TableColumn,
  UserFilter,
  usePages,
} from '../../console/kit.ts';
import { summarize } from './chart.tsx';
import type { Chart, EndpointStatus, ListedEndpoint } from './responses.ts';
import {
  ENDPOINT_STATES,
  EndpointState,
  EventNames,
  endpointHref,
  HOME,
  Owner,
  reasonText,
  UrlText,
  When,
} from './states.tsx';

const FILTERS = ['q', 'state', 'owner'];

function LastDay({ chart }: { chart: Chart }) {
  const { total, rate } = summarize(chart);
  if (total === 0) return <span class="soft">none</span>;
  const label = `${total} deliveries in the last 24 hours, by hour`;
  return (
    <span class="webhooks-rate">
      <span class={rate !== null && rate < 95 ? 'bad-text' : ''}>{rate === null ? 'waiting' : `${rate}%`}</span>
      <Sparkline
        label={label}
        values={chart.bars.map(({ succeeded, failed, pending }) => succeeded + failed + pending)}
        width={72}
      />
    </span>
  );
}

function LastResults({ lastSuccessAt, lastFailureAt, lastError }: ListedEndpoint) {
  if (lastSuccessAt === null && lastFailureAt === null) return <span class="soft">none yet</span>;
  return (
    <>
      {lastSuccessAt !== null && (
        <span class="webhooks-line">
          succeeded <When value={lastSuccessAt} />
        </span>
      )}
      {lastFailureAt !== null && (
        <span class="webhooks-line">
          failed <When value={lastFailureAt} />
        </span>
      )}
      {lastFailureAt !== null && lastError !== null && <span class="soft webhooks-note">{lastError}</span>}
    </>
  );
}

/** What the state of an endpoint means, where its name does not say it. */
function titleOf(state: EndpointStatus, disabledReason: string | null): string | undefined {
  if (state === 'retrying') return 'The last attempt failed';
  if (state === 'failing') return 'The last delivery failed in all attempts';
  return state === 'disabled' ? reasonText(disabledReason) : undefined;
}

const COLUMNS: TableColumn<ListedEndpoint>[] = [
  {
    name: 'url',
    label: 'Endpoint',
    render: ({ id, url, description }) => (
      <>
        <a href={endpointHref(id)}>
          <UrlText url={url} />
        </a>
        {description && <span class="soft webhooks-note">{description}</span>}
      </>
    ),
  },
  {
    name: 'state',
    label: 'Status',
    render: ({ state, disabledReason }) => (
      <span title={titleOf(state, disabledReason)}>
        <EndpointState state={state} />
      </span>
    ),
  },
  { name: 'owner', label: 'Owner', render: ({ owner }) => <Owner id={owner} /> },
  {
    name: 'events',
    label: 'Events',
    render: ({ events, scope }) => (
      <>
        <EventNames names={events} most={2} /> {scope === 'global' && <span class="chip">Global</span>}
      </>
    ),
  },
  { name: 'lastDay', label: 'Last 24 hours', render: ({ lastDay }) => <LastDay chart={lastDay} /> },
  { name: 'last', label: 'Last results', render: (endpoint) => <LastResults {...endpoint} /> },
];

function Filters() {
  const { params } = place.value;
  const [text, setText] = useState(params.get('q') ?? '');
  return (
    <FilterForm kind="webhooks-filters" label="Filter the endpoints" clears={FILTERS} onClear={() => setText('')}>
      <label>
        URL contains
        <input
          type="search"
          value={text}
          placeholder="any"
          onInput={(event) => setText(event.currentTarget.value)}
          onChange={(event) => setParams({ q: event.currentTarget.value.trim() })}
        />
      </label>
      <SelectFilter
        name="state"
        label="Status"
        all="All statuses"
        options={ENDPOINT_STATES.map((state) => [state, sentenceCase(state)])}
      />
      <UserFilter name="owner" label="Owner" />
    </FilterForm>
  );
}

function NoEndpoints({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Nothing title="No endpoint matches">
        <p>Change or clear the filters.</p>
      </Nothing>
    );
  return (
    <Nothing title="No endpoint yet">
      <p>
        An endpoint is a URL to which events are sent. Users register theirs with <code>POST /api/webhooks</code>, or
        you create one for them.
      </p>
    </Nothing>
  );
}

/** The endpoints of all users. */
export function EndpointsPage() {
  const query = chosenParams(FILTERS);
  const list = usePages<ListedEndpoint>(hrefOf('/webhooks/endpoints', query));
  return (
    <Page
      title="Endpoints"
      intro="The URLs to which events are sent, newest first."
      actions={
        <>
          <ActionButton run={list.reload}>Refresh</ActionButton>
          <a class="button primary" href={`${HOME}/endpoints/new`}>
            Create an endpoint
          </a>
        </>
      }
    >
      <Filters />
      <Listing from={list} label="Endpoints" columns={COLUMNS} empty={<NoEndpoints isFiltered={query.size > 0} />} />
    </Page>
  );
}
