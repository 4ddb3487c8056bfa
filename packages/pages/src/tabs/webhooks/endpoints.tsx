import {
  ActionButton,
  chosenParams,
  FilterForm,
  hrefOf,
  Listing,
  Nothing,
  Page,
  RecordFilter,
  SelectFilter,
  Sparkline,
  sentenceCase,
  type TableColumn,
  UserFilter,
  useLoaded,
  usePages,
  useSearchField,
} from '../../console/kit.ts';
import { numberText } from '../../kit/numbers.ts';
import { richText } from '../../kit/rich-text.ts';
import { percentOf, totalsOf } from './chart.tsx';
import type { Chart, EndpointStatus, ListedEndpoint, WebhookFacts } from './responses.ts';
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
import { texts } from './texts.ts';

const FILTERS = ['q', 'state', 'owner', 'organisation'];

function LastDay({ chart }: { chart: Chart }) {
  const totals = totalsOf(chart);
  const total = totals.succeeded + totals.failed;
  const rate = percentOf(totals);
  if (rate === null) return <span class="soft">{texts.endpoints.noneInDay}</span>;
  const label = texts.endpoints.lastDayLabel(total, numberText(total));
  return (
    <span class="webhooks-rate">
      <span class={rate < 95 ? 'bad-text' : ''}>{texts.percent(numberText(rate))}</span>
      <Sparkline label={label} values={chart.bars.map(({ succeeded, failed }) => succeeded + failed)} width={72} />
    </span>
  );
}

function LastResults({ lastSuccessAt, lastFailureAt, lastError }: ListedEndpoint) {
  if (lastSuccessAt === null && lastFailureAt === null) return <span class="soft">{texts.endpoints.noResults}</span>;
  return (
    <>
      {lastSuccessAt !== null && (
        <span class="webhooks-line">
          {richText(texts.endpoints.succeeded, { time: <When value={lastSuccessAt} /> })}
        </span>
      )}
      {lastFailureAt !== null && (
        <span class="webhooks-line">{richText(texts.endpoints.failed, { time: <When value={lastFailureAt} /> })}</span>
      )}
      {lastFailureAt !== null && lastError !== null && <span class="soft webhooks-note">{lastError}</span>}
    </>
  );
}

/** What the state of an endpoint means, where its name does not say it. */
function titleOf(state: EndpointStatus, disabledReason: string | null): string | undefined {
  if (state === 'retrying') return texts.endpoints.retrying;
  if (state === 'failing') return texts.endpoints.failing;
  return state === 'disabled' ? reasonText(disabledReason) : undefined;
}

const COLUMNS: TableColumn<ListedEndpoint>[] = [
  {
    name: 'url',
    label: texts.endpoint,
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
    label: texts.status,
    render: ({ state, disabledReason }) => (
      <span title={titleOf(state, disabledReason)}>
        <EndpointState state={state} />
      </span>
    ),
  },
  { name: 'owner', label: texts.owner, render: (endpoint) => <Owner of={endpoint} /> },
  {
    name: 'events',
    label: texts.events,
    render: ({ events, scope }) => (
      <>
        <EventNames names={events} most={2} />{' '}
        {scope === 'global' && <span class="chip">{texts.endpoints.global}</span>}
      </>
    ),
  },
  { name: 'lastDay', label: texts.endpoints.lastDay, render: ({ lastDay }) => <LastDay chart={lastDay} /> },
  { name: 'last', label: texts.endpoints.lastResults, render: (endpoint) => <LastResults {...endpoint} /> },
];

function Filters() {
  const search = useSearchField('q');
  const { data: facts } = useLoaded<WebhookFacts>('/webhooks/facts');
  return (
    <FilterForm kind="webhooks-filters" label={texts.endpoints.filter} clears={FILTERS}>
      <label>
        {texts.endpoints.urlContains}
        <input {...search} placeholder={texts.any} />
      </label>
      <SelectFilter
        name="state"
        label={texts.status}
        all={texts.allStatuses}
        options={ENDPOINT_STATES.map((state) => [state, sentenceCase(texts.states[state])])}
      />
      <UserFilter name="owner" label={texts.owner} />
      {facts?.organisationRoles && (
        <RecordFilter name="organisation" label={texts.organisation} resource="organisation" />
      )}
    </FilterForm>
  );
}

function NoEndpoints({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Nothing title={texts.endpoints.noMatch}>
        <p>{texts.changeFilters}</p>
      </Nothing>
    );
  return (
    <Nothing title={texts.noEndpoint}>
      <p>{richText(texts.endpoints.noneText, { route: <code>POST /api/webhooks</code> })}</p>
    </Nothing>
  );
}

/** The endpoints of all users. */
export function EndpointsPage() {
  const query = chosenParams(FILTERS);
  const list = usePages<ListedEndpoint>(hrefOf('/webhooks/endpoints', query));
  return (
    <Page
      title={texts.endpoints.title}
      intro={texts.endpoints.intro}
      actions={
        <>
          <ActionButton run={list.reload}>{texts.refresh}</ActionButton>
          <a class="button primary" href={`${HOME}/endpoints/new`}>
            {texts.createEndpoint}
          </a>
        </>
      }
    >
      <Filters />
      <Listing
        from={list}
        label={texts.endpoints.title}
        columns={COLUMNS}
        empty={<NoEndpoints isFiltered={query.size > 0} />}
      />
    </Page>
  );
}
