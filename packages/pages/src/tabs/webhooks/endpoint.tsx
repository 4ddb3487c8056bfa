import { useState } from 'preact/hooks';
import {
  ActionButton,
  durationText,
  Facts,
  type Load,
  Loaded,
  Page,
  place,
  Section,
  Time,
  timeOf,
  useLoaded,
} from '../../console/kit.ts';
import { describeCondition } from '../../kit/filter/rows.ts';
import { localNumber } from '../../kit/format.tsx';
import { numberText } from '../../kit/numbers.ts';
import { Backfill } from './backfill.tsx';
import { chosenRange, DeliveryChart, percentOf, RangeChoice } from './chart.tsx';
import { EndpointDeliveries } from './deliveries.tsx';
import { EndpointActions } from './endpoint-actions.tsx';
import { Recovery } from './recovery.tsx';
import type { Delivery, Endpoint, EndpointStatistics } from './responses.ts';
import { PollingGuide, Snippets } from './snippets.tsx';
import { DeliveryState, EndpointState, EventNames, HOME, Owner, outcomeText, reasonText } from './states.tsx';
import { texts } from './texts.ts';

const REFRESH_MS = 5000;
/** The server counts no further. */
const MOST_WAITING = 10_000;

/** Why the endpoint gets nothing at the moment. */
function Obstacles({ endpoint }: { endpoint: Endpoint }) {
  const { state, disabledReason, isOwnerActive, consecutiveFailures, lastError, filterError } = endpoint;
  const own = texts.endpointPage;
  if (!isOwnerActive) return <p class="banner warn">{own.ownerInactive}</p>;
  if (state === 'disabled') return <p class="banner bad">{own.disabled(reasonText(disabledReason))}</p>;
  if (filterError !== null) return <p class="banner warn">{own.filterError(filterError)}</p>;
  if (state === 'retrying')
    return <p class="banner warn">{lastError === null ? own.retrying : own.retryingWith(lastError)}</p>;
  if (state === 'failing')
    return (
      <p class="banner warn">
        {lastError === null ? own.failing(consecutiveFailures) : own.failingWith(consecutiveFailures, lastError)}
      </p>
    );
  return null;
}

/** How fast and in which order an endpoint gets its deliveries. */
function paceText({ ordered, rateLimit, slow, delivery }: Endpoint): string {
  const own = texts.endpointPage;
  if (delivery === 'poll') return own.pollOnly;
  const parts = [
    ordered && own.ordered,
    rateLimit && own.rate(rateLimit.limit, rateLimit.windowSeconds),
    slow && own.slow,
  ];
  return parts.filter(Boolean).join(', ') || own.noLimit;
}

/** The custom headers, with masked values. */
function Headers({ of }: { of: Readonly<Record<string, string>> }) {
  return (
    <ul>
      {Object.entries(of).map(([name, mask]) => (
        <li key={name}>
          <code>
            {name}: {mask}
          </code>
        </li>
      ))}
    </ul>
  );
}

function FilterFacts({ filter }: { filter: NonNullable<Endpoint['filter']> }) {
  return (
    <ul>
      {Object.entries(filter).flatMap(([event, conditions]) =>
        Object.entries(conditions).map(([name, wanted]) => (
          <li key={`${event} ${name}`}>
            <code>{`${event}: ${describeCondition(name, wanted)}`}</code>
          </li>
        )),
      )}
    </ul>
  );
}

function EndpointFacts({ endpoint }: { endpoint: Endpoint }) {
  const { waiting, createdAt, updatedAt, publicKey, apiKeyId } = endpoint;
  const own = texts.endpointPage;
  return (
    <Facts
      of={[
        [texts.status, <EndpointState state={endpoint.state} />],
        [texts.owner, <Owner of={endpoint} />],
        [texts.events, <EventNames names={endpoint.events} />],
        [own.filter, endpoint.filter && <FilterFacts filter={endpoint.filter} />],
        [texts.records, own.scopes[endpoint.scope]],
        [own.lastSuccess, timeOf(endpoint.lastSuccessAt) ?? texts.never],
        [own.lastFailure, timeOf(endpoint.lastFailureAt) ?? texts.never],
        [own.waiting, waiting >= MOST_WAITING ? own.moreThan(numberText(MOST_WAITING)) : numberText(waiting)],
        [own.nextAttempt, timeOf(endpoint.nextAttemptAt)],
        [own.sending, paceText(endpoint)],
        [texts.signature, own[endpoint.signing ?? 'v1']],
        [own.publicKey, publicKey && <code>{publicKey}</code>],
        [own.oldSecret, timeOf(endpoint.oldSecretUntil)],
        [own.headers, endpoint.headers && <Headers of={endpoint.headers} />],
        [own.apiKey, apiKeyId && <code>{apiKeyId}</code>],
        [own.keyScopes, endpoint.scopes?.join(', ') || undefined],
        [own.created, <Time value={createdAt} />],
        [own.changed, updatedAt === createdAt ? undefined : <Time value={updatedAt} />],
        [own.id, <code>{endpoint.id}</code>],
      ]}
    />
  );
}

function TestResult({ delivery }: { delivery: Delivery }) {
  const own = texts.endpointPage;
  return (
    <p class={`banner ${delivery.status === 'failed' ? 'bad' : 'webhooks-result'}`} role="status">
      <DeliveryState delivery={delivery} />
      <span>{delivery.attempts === 0 ? own.testWaits : own.test(outcomeText(delivery))}</span>
      <a href={`${HOME}/deliveries/${delivery.id}`}>{own.openDelivery}</a>
    </p>
  );
}

/** The period that the address chooses. */
const choosePeriod = (statistics: EndpointStatistics) =>
  statistics[chosenRange() === 'day' ? 'last24Hours' : 'last14Days'];

/** How many deliveries succeeded, and how long attempts took. */
function Statistics({ statistics }: { statistics: EndpointStatistics }) {
  const { attempts, attemptsPerDelivery, durationMs, series } = choosePeriod(statistics);
  const { p50, p95 } = durationMs;
  const own = texts.endpointPage;
  return (
    <>
      <DeliveryChart chart={{ range: chosenRange(), bars: series }} />
      <Facts
        of={[
          [own.attempts, numberText(attempts)],
          [own.attemptsPerDelivery, attemptsPerDelivery === null ? null : localNumber(attemptsPerDelivery.toFixed(1))],
          [own.p50, p50 === null ? null : durationText(p50)],
          [own.p95, p95 === null ? null : durationText(p95)],
        ]}
      />
    </>
  );
}

/** The deliveries of the endpoint: statistics, and a list that is read anew with each version. */
function EndpointHistory({
  endpoint,
  statistics,
  version,
  onRefresh,
}: {
  endpoint: Endpoint;
  statistics: Load<EndpointStatistics>;
  version: number;
  onRefresh: () => Promise<void>;
}) {
  const own = texts.endpointPage;
  const rate = statistics.data === undefined ? null : percentOf(choosePeriod(statistics.data));
  return (
    <>
      <Section
        title={rate !== null ? own.byResultRate(texts.percent(numberText(rate))) : own.byResult}
        actions={<RangeChoice />}
      >
        <Loaded from={statistics}>{(loaded) => <Statistics statistics={loaded} />}</Loaded>
      </Section>
      <Section
        title={texts.deliveries.title}
        actions={
          <>
            <a class="button" href={`${HOME}/explain?endpoint=${endpoint.id}`}>
              {own.explain}
            </a>
            <ActionButton run={onRefresh}>{texts.refresh}</ActionButton>
          </>
        }
      >
        <EndpointDeliveries key={version} id={endpoint.id} />
      </Section>
    </>
  );
}

/** An endpoint: its state, its deliveries, and what can be done with it. */
export function EndpointPage({ id }: { id: string }) {
  const path = `/webhooks/endpoints/${encodeURIComponent(id)}`;
  const loaded = useLoaded<Endpoint>(path, { everyMs: REFRESH_MS });
  const statistics = useLoaded<EndpointStatistics>(`${path}/statistics`, { everyMs: REFRESH_MS });
  const [version, setVersion] = useState(0);
  const [test, setTest] = useState<Delivery>();
  const { data } = loaded;
  const refresh = async () => {
    setVersion((before) => before + 1);
    await Promise.all([loaded.reload(), statistics.reload()]);
  };
  const showTest = (delivery: Delivery) => {
    setTest(delivery);
    return refresh();
  };
  const host = data && (data.url === null ? texts.polled : URL.parse(data.url)?.host);
  return (
    <Page
      title={data?.description || host || texts.endpoint}
      intro={
        data && (data.url === null ? texts.endpointPage.pollOnly : <code class="webhooks-address">{data.url}</code>)
      }
      back={{ href: `${HOME}/endpoints`, label: texts.endpoints.title }}
      actions={data && <EndpointActions endpoint={data} path={path} onChanged={refresh} onTested={showTest} />}
    >
      <Loaded from={loaded}>
        {(endpoint) => (
          <>
            <Obstacles endpoint={endpoint} />
            {test && <TestResult delivery={test} />}
            <Section title={texts.endpointPage.facts}>
              <EndpointFacts endpoint={endpoint} />
            </Section>
            <EndpointHistory endpoint={endpoint} statistics={statistics} version={version} onRefresh={refresh} />
            <Section title={texts.endpointPage.recover}>
              <Recovery endpoint={endpoint} id={place.value.params.get('recovery') ?? endpoint.recovery} />
            </Section>
            <Backfill endpoint={endpoint} />
            {endpoint.url === null && (
              <Section title={texts.endpointPage.poll}>
                <PollingGuide id={endpoint.id} />
              </Section>
            )}
            <Section title={texts.verify}>
              <Snippets url={endpoint.url ?? 'http://localhost:3000/hooks'} />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}
