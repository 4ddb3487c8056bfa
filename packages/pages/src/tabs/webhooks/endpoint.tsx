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
import { chosenRange, DeliveryChart, RangeChoice, summarize } from './chart.tsx';
import { EndpointDeliveries } from './deliveries.tsx';
import { EndpointActions } from './endpoint-actions.tsx';
import { Recovery } from './recovery.tsx';
import type { Chart, Delivery, Endpoint } from './responses.ts';
import { Snippets } from './snippets.tsx';
import { DeliveryState, EndpointState, EventNames, HOME, Owner, outcomeText, reasonText } from './states.tsx';

const REFRESH_MS = 5000;

/** Why the endpoint gets nothing at the moment. */
function Obstacles({ endpoint }: { endpoint: Endpoint }) {
  const { state, disabledReason, isOwnerActive, consecutiveFailures, lastError } = endpoint;
  if (!isOwnerActive)
    return (
      <p class="banner warn">
        The account of the owner is not active. Deliveries wait until it is, or until they are too old.
      </p>
    );
  if (state === 'disabled')
    return (
      <p class="banner bad">
        The endpoint is disabled: {reasonText(disabledReason)}. Deliveries wait until it is enabled, or until they are
        too old.
      </p>
    );
  if (state === 'retrying')
    return (
      <p class="banner warn">
        The last attempt failed{lastError === null ? '' : `: ${lastError}`}. Deliveries are tried again as their
        schedule says.
      </p>
    );
  if (state === 'failing')
    return (
      <p class="banner warn">
        {consecutiveFailures} {consecutiveFailures === 1 ? 'delivery' : 'deliveries'} failed in a row
        {lastError === null ? '' : `, the last one with: ${lastError}`}.
      </p>
    );
  return null;
}

/** How fast and in which order an endpoint gets its deliveries. */
function paceText({ ordered, rateLimit, slow }: Endpoint): string {
  const parts = [
    ordered && 'in order',
    rateLimit && `at most ${rateLimit.limit} requests in ${rateLimit.windowSeconds} s`,
    slow && 'in the slow queue',
  ];
  return parts.filter(Boolean).join(', ') || 'no limit';
}

function EndpointFacts({ endpoint }: { endpoint: Endpoint }) {
  const { waiting, createdAt, updatedAt, publicKey, apiKeyId } = endpoint;
  return (
    <Facts
      of={[
        ['Status', <EndpointState state={endpoint.state} />],
        ['Owner', <Owner id={endpoint.owner} />],
        ['Events', <EventNames names={endpoint.events} />],
        ['Records', endpoint.scope === 'global' ? 'of all users' : 'that the owner may read'],
        ['Last success', timeOf(endpoint.lastSuccessAt) ?? 'never'],
        ['Last failure', timeOf(endpoint.lastFailureAt) ?? 'never'],
        ['Waiting deliveries', waiting >= 10_000 ? 'more than 10,000' : waiting.toLocaleString('en')],
        ['Next attempt', timeOf(endpoint.nextAttemptAt)],
        ['Sending', paceText(endpoint)],
        ['Signature', endpoint.signing === 'v1a' ? 'secret and public key' : 'secret'],
        ['Public key', publicKey && <code>{publicKey}</code>],
        ['The old secret also signs until', timeOf(endpoint.oldSecretUntil)],
        ['API key', apiKeyId && <code>{apiKeyId}</code>],
        ['Scopes of the key', endpoint.scopes?.join(', ') || undefined],
        ['Created', <Time value={createdAt} />],
        ['Changed', updatedAt === createdAt ? undefined : <Time value={updatedAt} />],
        ['Id', <code>{endpoint.id}</code>],
      ]}
    />
  );
}

function TestResult({ delivery }: { delivery: Delivery }) {
  return (
    <p class={`banner ${delivery.status === 'failed' ? 'bad' : 'webhooks-result'}`} role="status">
      <DeliveryState delivery={delivery} />
      <span>The test: {outcomeText(delivery)}</span>
      <a href={`${HOME}/deliveries/${delivery.id}`}>Open the delivery</a>
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
  const { total, rate } = chart.data === undefined ? { total: 0, rate: null } : summarize(chart.data);
  return (
    <>
      <Section
        title={total > 0 && rate !== null ? `Deliveries by result: ${rate}% succeeded` : 'Deliveries by result'}
        actions={<RangeChoice />}
      >
        <Loaded from={chart}>{(loaded) => <DeliveryChart chart={loaded} />}</Loaded>
      </Section>
      <Section
        title="Deliveries"
        actions={
          <>
            <a class="button" href={`${HOME}/explain?endpoint=${endpoint.id}`}>
              Explain a missing event
            </a>
            <ActionButton run={onRefresh}>Refresh</ActionButton>
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
      title={data?.description ?? host ?? 'Endpoint'}
      intro={data && <code class="webhooks-address">{data.url}</code>}
      back={{ href: `${HOME}/endpoints`, label: 'Endpoints' }}
      actions={data && <EndpointActions endpoint={data} path={path} onChanged={refresh} onTested={showTest} />}
    >
      <Loaded from={loaded}>
        {(endpoint) => (
          <>
            <Obstacles endpoint={endpoint} />
            {test && <TestResult delivery={test} />}
            <Section title="Facts">
              <EndpointFacts endpoint={endpoint} />
            </Section>
            <EndpointHistory endpoint={endpoint} chart={chart} version={version} onRefresh={refresh} />
            <Section title="Recover after an outage">
              <Recovery endpoint={endpoint} id={place.value.params.get('recovery') ?? endpoint.recovery} />
            </Section>
            <Section title="Verify signatures">
              <Snippets url={endpoint.url} />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}
