import { BarChart, type ChartPoint, Figure, Loaded, Page, Section, useLoaded } from '../../console/kit.ts';
import { ChecksSection, LevelBadge } from './checks.tsx';
import { durationText, Marked, msText, numberText, percentText, versionText } from './format.tsx';
import { Postgres, Redis } from './servers.tsx';
import { texts } from './texts.ts';
import type { Checks, Concern, Finding, Overview, ProcessVersion, RequestSummary } from './types.ts';

const POLL_MS = 5000;
const BASE = '/console/operations';
const { overview: words } = texts;

/** Says in one line whether the app works, and what needs attention. */
function Verdict({ concerns, findings }: { concerns: Concern[]; findings: Finding[] }) {
  const count = findings.filter(({ level }) => level !== 'ok').length;
  if (concerns.length === 0)
    return (
      <p class={`operations-verdict ${count > 0 ? 'warn' : 'good'}`} role="status">
        <b>{words.works}</b> {words.worksNote}
        {count > 0 && ` ${words.remarks(numberText(count))}`}
      </p>
    );
  const hasErrors = concerns.some(({ level }) => level === 'error');
  return (
    <div class={`operations-verdict ${hasErrors ? 'bad' : 'warn'}`} role="status">
      <b>{words.attention(numberText(concerns.length))}</b>
      <ul>
        {concerns.map(({ level, message, section }) => (
          <li key={message}>
            <LevelBadge level={level} />
            <span>
              {message}
              {section !== 'overview' && (
                <>
                  {' '}
                  · <a href={`${BASE}/${section}`}>{words.show}</a>
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
const UnknownFigure = ({ label }: { label: string }) => <Figure label={label} value="–" note={words.unknown} />;

function RequestFigures({ requests }: Pick<Overview, 'requests'>) {
  if (requests === undefined)
    return [words.perMinute, words.failed, words.p95].map((label) => <UnknownFigure key={label} label={label} />);
  const { count, failed, seconds, inFlight, p95Ms, meanMs } = requests;
  const perMinute = seconds === 0 ? null : Math.round((count / seconds) * 60);
  return (
    <>
      <Figure label={words.perMinute} value={numberText(perMinute)} note={words.perMinuteNote(numberText(inFlight))} />
      <Figure
        label={words.failed}
        value={count === 0 ? '–' : percentText(failed / count)}
        note={count === 0 ? words.noRequests : words.failedNote(numberText(failed), numberText(count))}
        kind={failed > 0 ? 'bad' : ''}
      />
      <Figure
        label={words.p95}
        value={p95Ms === null ? '–' : `≤ ${msText(p95Ms)}`}
        note={count === 0 ? words.noRequests : words.p95Note(msText(meanMs))}
      />
    </>
  );
}

function outboxNote(outbox: Overview['outbox']): string {
  if (outbox === undefined) return words.outboxUnknown;
  return outbox.oldestSeconds ? words.outboxNote(durationText(Math.round(outbox.oldestSeconds))) : words.outboxEmpty;
}

function Figures({ requests, processes, outbox, queues }: Overview) {
  return (
    <div class="figures operations-figures">
      <RequestFigures requests={requests} />
      {processes === undefined ? (
        <UnknownFigure label={words.processes} />
      ) : (
        <Figure
          label={words.processes}
          value={numberText(processes.length)}
          note={
            <>
              {words.processesNote} <a href="/console/operations/processes">{words.showAll}</a>
            </>
          }
        />
      )}
      <Figure
        label={words.outbox}
        value={outbox === undefined ? '–' : `${numberText(outbox.rows)}${outbox.isCapped ? '+' : ''}`}
        note={outboxNote(outbox)}
      />
      {queues === undefined ? (
        <UnknownFigure label={words.entries} />
      ) : (
        <Figure
          label={words.entries}
          value={numberText(queues.waiting + queues.active)}
          note={words.entriesNote(numberText(queues.active), numberText(queues.delayed))}
        />
      )}
    </div>
  );
}

/** The label of an interval of the chart: how long ago it ended. */
function labelOf(index: number, { points, intervalSeconds }: RequestSummary) {
  const seconds = (points.length - 1 - index) * intervalSeconds;
  return seconds === 0 ? words.now : words.ago(durationText(seconds));
}

const Unknown = () => <p class="soft">{words.unknown}</p>;

function Requests({ requests }: Pick<Overview, 'requests'>) {
  if (requests === undefined) return <Unknown />;
  if (requests.points.length < 2) return <p class="soft">{words.requestsSoon(numberText(requests.intervalSeconds))}</p>;
  const points = requests.points.map(
    ({ count, failed }, index): ChartPoint => ({
      label: labelOf(index, requests),
      parts: [
        { kind: 'good', name: words.served, value: count - failed },
        { kind: 'bad', name: words.failedPart, value: failed },
      ],
    }),
  );
  return <BarChart label={words.requestsChart} points={points} height={96} />;
}

function VersionItem({ version, appVersion, count }: ProcessVersion & { count: number }) {
  return (
    <li>
      {texts.products.belfry} <b>{version}</b>
      {appVersion ? (
        <>
          , {words.app} <b title={appVersion}>{versionText(appVersion)}</b>
        </>
      ) : (
        <span class="soft">
          , <Marked text={words.appUnknown} />
        </span>
      )}
      <span class="soft"> · {words.processCount(numberText(count))}</span>
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
    <Page title={words.title} intro={words.intro}>
      <Loaded from={overview}>
        {(data) => (
          <>
            <Verdict concerns={data.concerns} findings={checks.data?.findings ?? []} />
            <Figures {...data} />
            <Section title={words.requests}>
              <Requests requests={data.requests} />
            </Section>
            <div class="operations-columns">
              <Section title={texts.products.postgres}>
                <Postgres state={data.postgres} />
              </Section>
              <Section title={texts.products.redis}>
                <Redis state={data.redis} />
              </Section>
            </div>
            <Section title={words.versions}>
              <Versions processes={data.processes} />
            </Section>
          </>
        )}
      </Loaded>
      <ChecksSection checks={checks} />
    </Page>
  );
}
