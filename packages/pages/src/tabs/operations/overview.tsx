import { BarChart, type ChartPoint, Figure, Loaded, Page, Section, useLoaded } from '../../console/kit.ts';
import { ChecksSection, LevelBadge } from './checks.tsx';
import { durationText, msText, numberText, percentText, versionText } from './format.tsx';
import { Postgres, Redis } from './servers.tsx';
import type { Checks, Concern, Finding, Overview, ProcessVersion, RequestSummary } from './types.ts';

const POLL_MS = 5000;
const BASE = '/console/operations';

const countChecks = (count: number) => (count === 1 ? 'One check below has' : `${count} checks below have`);

/** Says in one line whether the app works, and what needs attention. */
function Verdict({ concerns, findings }: { concerns: Concern[]; findings: Finding[] }) {
  const count = findings.filter(({ level }) => level !== 'ok').length;
  if (concerns.length === 0)
    return (
      <p class={`operations-verdict ${count > 0 ? 'warn' : 'good'}`} role="status">
        <b>Everything works.</b> Servers, processes and queues are within their limits.
        {count > 0 && ` ${countChecks(count)} a remark.`}
      </p>
    );
  const hasErrors = concerns.some(({ level }) => level === 'error');
  return (
    <div class={`operations-verdict ${hasErrors ? 'bad' : 'warn'}`} role="status">
      <b>{concerns.length === 1 ? 'One thing needs' : `${concerns.length} things need`} attention.</b>
      <ul>
        {concerns.map(({ level, message, section }) => (
          <li key={message}>
            <LevelBadge level={level} />
            <span>
              {message}
              {section !== 'overview' && (
                <>
                  {' '}
                  · <a href={`${BASE}/${section}`}>Show</a>
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Instead of numbers that only Redis knows, while it is not usable. */
const UNKNOWN = 'not known without Redis';

const UnknownFigure = ({ label }: { label: string }) => <Figure label={label} value="–" note={UNKNOWN} />;

function RequestFigures({ requests }: Pick<Overview, 'requests'>) {
  if (requests === undefined)
    return ['Requests a minute', 'Failed requests', '95th percentile'].map((label) => (
      <UnknownFigure key={label} label={label} />
    ));
  const { count, failed, seconds, inFlight, p95Ms, meanMs } = requests;
  const perMinute = seconds === 0 ? null : Math.round((count / seconds) * 60);
  return (
    <>
      <Figure label="Requests a minute" value={numberText(perMinute)} note={`${numberText(inFlight)} in flight`} />
      <Figure
        label="Failed requests"
        value={count === 0 ? '–' : percentText(failed / count)}
        note={`${numberText(failed)} of ${numberText(count)}`}
        kind={failed > 0 ? 'bad' : ''}
      />
      <Figure
        label="95th percentile"
        value={p95Ms === null ? '–' : `≤ ${msText(p95Ms)}`}
        note={`mean ${msText(meanMs)}`}
      />
    </>
  );
}

function Figures({ requests, processes, outbox, queues }: Overview) {
  return (
    <div class="figures operations-figures">
      <RequestFigures requests={requests} />
      {processes === undefined ? (
        <UnknownFigure label="Processes" />
      ) : (
        <Figure
          label="Processes"
          value={numberText(processes.length)}
          note={<a href="/console/operations/processes">Show all</a>}
        />
      )}
      <Figure
        label="Outbox"
        value={outbox === undefined ? '–' : `${numberText(outbox.rows)}${outbox.isCapped ? '+' : ''}`}
        note={outbox?.oldestSeconds ? `oldest ${durationText(Math.round(outbox.oldestSeconds))}` : 'nothing waits'}
      />
      {queues === undefined ? (
        <UnknownFigure label="Queue entries" />
      ) : (
        <Figure
          label="Queue entries"
          value={numberText(queues.waiting + queues.active)}
          note={`${numberText(queues.active)} running, ${numberText(queues.delayed)} scheduled`}
        />
      )}
    </div>
  );
}

/** The label of an interval of the chart: how long ago it ended. */
function labelOf(index: number, { points, intervalSeconds }: RequestSummary) {
  const seconds = (points.length - 1 - index) * intervalSeconds;
  return seconds === 0 ? 'now' : `${durationText(seconds)} ago`;
}

const Unknown = () => <p class="soft">{UNKNOWN.replace(/^n/, 'N')}.</p>;

function Requests({ requests }: Pick<Overview, 'requests'>) {
  if (requests === undefined) return <Unknown />;
  if (requests.points.length < 2)
    return (
      <p class="soft">
        Processes report their requests every {requests.intervalSeconds} seconds; the first numbers arrive in a moment.
      </p>
    );
  const points = requests.points.map(
    ({ count, failed }, index): ChartPoint => ({
      label: labelOf(index, requests),
      parts: [
        { kind: 'good', name: 'Served', value: count - failed },
        { kind: 'bad', name: 'Failed', value: failed },
      ],
    }),
  );
  return <BarChart label="Requests of all processes" points={points} height={96} />;
}

function VersionItem({ version, appVersion, count }: ProcessVersion & { count: number }) {
  return (
    <li>
      Belfry <b>{version}</b>
      {appVersion ? (
        <>
          , app <b title={appVersion}>{versionText(appVersion)}</b>
        </>
      ) : (
        <span class="soft">
          , app version not known: set <code>APP_VERSION</code>
        </span>
      )}
      <span class="soft">
        {' '}
        · {count} {count === 1 ? 'process' : 'processes'}
      </span>
    </li>
  );
}

/** The versions that run, with the number of their processes. */
function Versions({ processes }: Pick<Overview, 'processes'>) {
  if (processes === undefined) return <Unknown />;
  const groups = Map.groupBy(processes, ({ version, appVersion }) => `${version} ${appVersion ?? ''}`);
  return (
    <ul class="operations-versions">
      {[...groups].map(([key, group]) => (
        <VersionItem key={key} version={group[0]?.version} appVersion={group[0]?.appVersion} count={group.length} />
      ))}
    </ul>
  );
}

/** Whether everything is fine, at a glance. */
export function OverviewPage() {
  const overview = useLoaded<Overview>('/operations/overview', { everyMs: POLL_MS });
  const checks = useLoaded<Checks>('/operations/checks');
  return (
    <Page title="Operations" intro="The state of the running app. This page updates itself every 5 seconds.">
      <Loaded from={overview}>
        {(data) => (
          <>
            <Verdict concerns={data.concerns} findings={checks.data?.findings ?? []} />
            <Figures {...data} />
            <Section title="Requests of the last five minutes">
              <Requests requests={data.requests} />
            </Section>
            <div class="operations-columns">
              <Section title="Postgres">
                <Postgres state={data.postgres} />
              </Section>
              <Section title="Redis">
                <Redis state={data.redis} />
              </Section>
            </div>
            <Section title="Versions">
              <Versions processes={data.processes} />
            </Section>
          </>
        )}
      </Loaded>
      <ChecksSection checks={checks} />
    </Page>
  );
}
