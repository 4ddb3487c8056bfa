import { useState } from 'preact/hooks';
import {
  ActionButton,
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
import { numberText } from '../../kit/numbers.ts';
import { chosenRange, DeliveryChart, RangeChoice, summarize } from './chart.tsx';
import { EndpointDeliveries } from './deliveries.tsx';
import { EndpointActions } from './endpoint-actions.tsx';
import { Recovery } from './recovery.tsx';
import type { Chart, Delivery, Endpoint } from './responses.ts';
import { Snippets } from './snippets.tsx';
import { DeliveryState, EndpointState, EventNames, HOME, Owner, outcomeText, reasonText } from './states.tsx';
import { texts } from './texts.ts';

const REFRESH_MS = 5000;
/** The server counts no further. */
const MOST_WAITING = 10_000;

/** Why the endpoint gets nothing at the moment. */
function Obstacles({ endpoint }: { endpoint: Endpoint }) {
  const { state, disabledReason, isOwnerActive, consecutiveFailures, lastError } = endpoint;
  const own = texts.endpointPage;
  if (!isOwnerActive) return <p class="banner warn">{own.ownerInactive}</p>;
  if (state === 'disabled') return <p class="banner bad">{own.disabled(reasonText(disabledReason))}</p>;
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
function paceText({ ordered, rateLimit, slow }: Endpoint): string {
  const own = texts.endpointPage;
  const parts = [
    ordered && own.ordered,
    rateLimit && own.rate(rateLimit.limit, rateLimit.windowSeconds),
    slow && own.slow,
  ];
  return parts.filter(Boolean).join(', ') || own.noLimit;
}

function EndpointFacts({ endpoint }: { endpoint: Endpoint }) {
  const { waiting, createdAt, updatedAt, publicKey, apiKeyId } = endpoint;
  const own = texts.endpointPage;
  return (
    <Facts
      of={[
        [texts.status, <EndpointState state={endpoint.state} />],
        [texts.owner, <Owner id={endpoint.owner} />],
        [texts.events, <EventNames names={endpoint.events} />],
        [texts.records, own.scopes[endpoint.scope]],
        [own.lastSuccess, timeOf(endpoint.lastSuccessAt) ?? texts.never],
        [own.lastFailure, timeOf(endpoint.lastFailureAt) ?? texts.never],
        [own.waiting, waiting >= MOST_WAITING ? own.moreThan(numberText(MOST_WAITING)) : numberText(waiting)],
        [own.nextAttempt, timeOf(endpoint.nextAttemptAt)],
        [own.sending, paceText(endpoint)],
        [texts.signature, own[endpoint.signing ?? 'v1']],
        [own.publicKey, publicKey && <code>{publicKey}</code>],
        [own.oldSecret, timeOf(endpoint.oldSecretUntil)],
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
  return (
    <p class={`banner ${delivery.status === 'failed' ? 'bad' : 'webhooks-result'}`} role="status">
      <DeliveryState delivery={delivery} />
      <span>{texts.endpointPage.test(outcomeText(delivery))}</span>
      <a href={`${HOME}/deliveries/${delivery.id}`}>{texts.endpointPage.openDelivery}</a>
    </p>
  );
}

/** The deliveries of the endpoint: a chart, and a list that is read anew with each version. */
function EndpointHistory({
  endpoint,
  chart,
  version,
  onRefresh,
}: {
  endpoint: Endpoint;
  chart: Load<Chart>;
  version: number;
  onRefresh: () => Promise<void>;
}) {
  const own = texts.endpointPage;
  const { total, rate } = chart.data === undefined ? { total: 0, rate: null } : summarize(chart.data);
  return (
    <>
      <Section
        title={total > 0 && rate !== null ? own.byResultRate(texts.percent(numberText(rate))) : own.byResult}
        actions={<RangeChoice />}
      >
        <Loaded from={chart}>{(loaded) => <DeliveryChart chart={loaded} />}</Loaded>
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
  const chart = useLoaded<Chart>(`${path}/chart?range=${chosenRange()}`, { everyMs: REFRESH_MS });
  const [version, setVersion] = useState(0);
  const [test, setTest] = useState<Delivery>();
  const { data } = loaded;
  const refresh = async () => {
    setVersion((before) => before + 1);
    await Promise.all([loaded.reload(), chart.reload()]);
  };
  const showTest = (delivery: Delivery) => {
    setTest(delivery);
    return refresh();
  };
  const host = data && URL.canParse(data.url) ? new URL(data.url).host : undefined;
  return (
    <Page
      title={data?.description || host || texts.endpoint}
      intro={data && <code class="webhooks-address">{data.url}</code>}
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
            <EndpointHistory endpoint={endpoint} chart={chart} version={version} onRefresh={refresh} />
            <Section title={texts.endpointPage.recover}>
              <Recovery endpoint={endpoint} id={place.value.params.get('recovery') ?? endpoint.recovery} />
            </Section>
            <Section title={texts.verify}>
              <Snippets url={endpoint.url} />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}
