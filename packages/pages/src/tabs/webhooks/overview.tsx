import {
  DataTable,
  durationText,
  Figure,
  Loaded,
  Nothing,
  Page,
  Section,
  type TableColumn,
  useLoaded,
} from '../../console/kit.ts';
import { chosenRange, DeliveryChart, RangeChoice } from './chart.tsx';
import type { EndpointStatus, Overview, RankedEndpoint } from './responses.ts';
import { endpointHref, HOME, Owner, UrlText } from './states.tsx';

const REFRESH_MS = 15_000;

function EndpointCards({ endpoints: { active, retrying, failing, disabled }, failed }: Overview) {
  const states = Object.values(disabled).reduce((sum, count) => sum + count, 0);
  const automatic = states - (disabled.manual ?? 0);
  const list = (state: EndpointStatus) => `${HOME}/endpoints?state=${state}`;
  return (
    <div class="figures">
      <Figure
        label="Active endpoints"
        value={active}
        href={list('active')}
        note="the last delivery succeeded, or none yet"
      />
      <Figure
        label="Retrying endpoints"
        value={retrying}
        kind={retrying > 0 ? 'warn' : ''}
        href={list('retrying')}
        note="the last attempt failed"
      />
      <Figure
        label="Failing endpoints"
        value={failing}
        kind={failing > 0 ? 'warn' : ''}
        href={list('failing')}
        note="the last delivery failed in all attempts"
      />
      <Figure
        label="Disabled endpoints"
        value={states}
        kind={automatic > 0 ? 'bad' : ''}
        href={list('disabled')}
        note={automatic === 0 ? 'by users' : `${automatic} automatically`}
      />
      <Figure
        label="Failed deliveries in the log"
        value={failed}
        kind={failed > 0 ? 'bad' : ''}
        href={`${HOME}/deliveries?status=failed`}
        note="all attempts failed; they can be recovered"
      />
    </div>
  );
}

function QueueCards({ queue: { due, retrying, held, inFlight, oldestMs, events } }: Overview) {
  const late = oldestMs !== null && oldestMs > 60_000;
  return (
    <div class="figures">
      <Figure
        label="Due now"
        value={due}
        kind={late ? 'bad' : ''}
        note={oldestMs === null ? 'nothing is overdue' : `the oldest is overdue by ${durationText(oldestMs)}`}
      />
      <Figure label="In flight" value={inFlight} href={`${HOME}/deliveries?status=sending`} />
      <Figure label="Waiting for a retry" value={retrying} href={`${HOME}/deliveries?status=pending`} />
      <Figure label="Held" value={held} note="the endpoint or its owner is disabled" />
      <Figure label="Events not yet processed" value={events} />
    </div>
  );
}

interface RankingProps {
  title: string;
  rows: RankedEndpoint[];
  /** By which the endpoints are ranked. */
  column: TableColumn<RankedEndpoint>;
  empty: string;
}

function Ranking({ title, rows, column, empty }: RankingProps) {
  return (
    <Section title={title}>
      {rows.length === 0 ? (
        <p class="soft">{empty}</p>
      ) : (
        <DataTable
          label={title}
          rows={rows}
          columns={[
            {
              name: 'url',
              label: 'Endpoint',
              render: ({ id, url }) => (
                <a href={endpointHref(id)}>
                  <UrlText url={url} />
                </a>
              ),
            },
            { name: 'owner', label: 'Owner', render: ({ owner }) => <Owner id={owner} /> },
            column,
          ]}
        />
      )}
    </Section>
  );
}

const FAILED: TableColumn<RankedEndpoint> = {
  name: 'failed',
  label: 'Failed',
  isNumber: true,
  render: ({ failed, succeeded }) => (
    <span class="webhooks-nowrap">
      {failed} of {failed + succeeded}
    </span>
  ),
};
const SLOW: TableColumn<RankedEndpoint> = {
  name: 'ms',
  label: 'p95',
  isNumber: true,
  render: ({ durationMs }) => durationMs !== null && <span class="webhooks-nowrap">{durationText(durationMs)}</span>,
};

function NoEndpoints() {
  return (
    <Nothing title="No endpoint yet">
      <p>
        Users register endpoints with <code>POST /api/webhooks</code> or in the webhook portal. Endpoints, deliveries
        and failures appear here.
      </p>
      <p>
        <a class="button primary" href={`${HOME}/endpoints/new`}>
          Create an endpoint
        </a>
      </p>
    </Nothing>
  );
}

/** Numbers and charts of all endpoints. */
export function OverviewPage() {
  const overview = useLoaded<Overview>(`/webhooks/overview?range=${chosenRange()}`, { everyMs: REFRESH_MS });
  const hasNone = ({ endpoints: { active, retrying, failing, disabled } }: Overview) =>
    active + retrying + failing + Object.keys(disabled).length === 0;
  return (
    <Page title="Webhooks" intro="The endpoints of all users, and what is sent to them.">
      <Loaded from={overview}>
        {(data) =>
          hasNone(data) ? (
            <NoEndpoints />
          ) : (
            <>
              <EndpointCards {...data} />
              <Section title="Deliveries" actions={<RangeChoice />}>
                <DeliveryChart chart={data.chart} />
              </Section>
              <Section title="Queue">
                <QueueCards {...data} />
              </Section>
              <div class="webhooks-columns">
                <Ranking
                  title="Most failures"
                  rows={data.failing}
                  column={FAILED}
                  empty="No delivery failed in this period."
                />
                <Ranking title="Slowest" rows={data.slow} column={SLOW} empty="Nothing was sent in this period." />
              </div>
            </>
          )
        }
      </Loaded>
    </Page>
  );
}
