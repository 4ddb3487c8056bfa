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
import { numberText } from '../../kit/numbers.ts';
import { richText } from '../../kit/rich-text.ts';
import { chosenRange, DeliveryChart, RangeChoice } from './chart.tsx';
import type { EndpointStatus, Overview, RankedEndpoint } from './responses.ts';
import { endpointHref, HOME, Owner, UrlText } from './states.tsx';
import { texts } from './texts.ts';

const REFRESH_MS = 15_000;

function EndpointCards({ endpoints: { active, retrying, failing, disabled }, failed }: Overview) {
  const states = Object.values(disabled).reduce((sum, count) => sum + count, 0);
  const automatic = states - (disabled.manual ?? 0);
  const own = texts.overview;
  const list = (state: EndpointStatus) => `${HOME}/endpoints?state=${state}`;
  return (
    <div class="figures">
      <Figure label={own.active} value={active} href={list('active')} note={own.activeNote} />
      <Figure
        label={own.retrying}
        value={retrying}
        kind={retrying > 0 ? 'warn' : ''}
        href={list('retrying')}
        note={own.retryingNote}
      />
      <Figure
        label={own.failing}
        value={failing}
        kind={failing > 0 ? 'warn' : ''}
        href={list('failing')}
        note={own.failingNote}
      />
      <Figure
        label={own.disabled}
        value={states}
        kind={automatic > 0 ? 'bad' : ''}
        href={list('disabled')}
        note={automatic === 0 ? own.disabledByUsers : own.disabledByItself(numberText(automatic))}
      />
      <Figure
        label={own.failed}
        value={failed}
        kind={failed > 0 ? 'bad' : ''}
        href={`${HOME}/deliveries?status=failed`}
        note={own.failedNote}
      />
    </div>
  );
}

function QueueCards({ queue: { due, retrying, held, inFlight, oldestMs, events } }: Overview) {
  const own = texts.overview;
  const late = oldestMs !== null && oldestMs > 60_000;
  return (
    <div class="figures">
      <Figure
        label={own.due}
        value={due}
        kind={late ? 'bad' : ''}
        note={oldestMs === null ? own.nothingDue : own.overdue(durationText(oldestMs))}
      />
      <Figure label={own.inFlight} value={inFlight} href={`${HOME}/deliveries?status=sending`} />
      <Figure label={own.waiting} value={retrying} href={`${HOME}/deliveries?status=pending`} />
      <Figure label={own.held} value={held} note={own.heldNote} />
      <Figure label={own.events} value={events} />
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
              label: texts.endpoint,
              render: ({ id, url }) => (
                <a href={endpointHref(id)}>
                  <UrlText url={url} />
                </a>
              ),
            },
            { name: 'owner', label: texts.owner, render: (endpoint) => <Owner of={endpoint} /> },
            column,
          ]}
        />
      )}
    </Section>
  );
}

const FAILED: TableColumn<RankedEndpoint> = {
  name: 'failed',
  label: texts.overview.failures,
  isNumber: true,
  render: ({ failed, succeeded }) => (
    <span class="webhooks-nowrap">{texts.overview.failuresOf(numberText(failed), numberText(failed + succeeded))}</span>
  ),
};
const SLOW: TableColumn<RankedEndpoint> = {
  name: 'ms',
  label: texts.overview.p95,
  isNumber: true,
  render: ({ durationMs }) => durationMs !== null && <span class="webhooks-nowrap">{durationText(durationMs)}</span>,
};

function NoEndpoints() {
  return (
    <Nothing title={texts.noEndpoint}>
      <p>{richText(texts.overview.noneText, { route: <code>POST /api/webhooks</code> })}</p>
      <p>
        <a class="button primary" href={`${HOME}/endpoints/new`}>
          {texts.createEndpoint}
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
    <Page title={texts.title} intro={texts.overview.intro}>
      <Loaded from={overview}>
        {(data) =>
          hasNone(data) ? (
            <NoEndpoints />
          ) : (
            <>
              <EndpointCards {...data} />
              <Section title={texts.overview.deliveries} actions={<RangeChoice />}>
                <DeliveryChart chart={data.chart} />
              </Section>
              <Section title={texts.overview.queue}>
                <QueueCards {...data} />
              </Section>
              <div class="webhooks-columns">
                <Ranking
                  title={texts.overview.mostFailures}
                  rows={data.failing}
                  column={FAILED}
                  empty={texts.overview.noFailures}
                />
                <Ranking
                  title={texts.overview.slowest}
                  rows={data.slow}
                  column={SLOW}
                  empty={texts.overview.nothingSent}
                />
              </div>
            </>
          )
        }
      </Loaded>
    </Page>
  );
}
