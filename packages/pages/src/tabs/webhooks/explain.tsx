import { chosenParams, Nothing, Page, Section, useLoaded } from '../../console/kit.ts';
import { Question } from './question.tsx';
import type { Explanation, Rule } from './responses.ts';
import { DeliveryState, endpointHref, HOME } from './states.tsx';

const NAMES = { pass: 'passes', fail: 'fails', unknown: 'unknown' };
const MARKS = { pass: '✓', fail: '✕', unknown: '?' };

function Rules({ rules }: { rules: Rule[] }) {
  return (
    <ol class="webhooks-rules">
      {rules.map(({ rule, result, text }) => (
        <li key={rule} class={result}>
          <span class="webhooks-mark" aria-hidden="true">
            {MARKS[result]}
          </span>
          <span>
            <b>{rule}</b> <span class="visually-hidden">{NAMES[result]}</span>
            <br />
            {text}
          </span>
        </li>
      ))}
    </ol>
  );
}

function Verdict({ explanation, endpoint }: { explanation: Explanation; endpoint: string }) {
  const { name, event, verdict, isDelivered, rules, deliveries } = explanation;
  const hasFailed = rules.some(({ result }) => result === 'fail') || deliveries[0]?.status === 'failed';
  return (
    <div role="status">
      <p class={`banner webhooks-verdict ${isDelivered ? 'good' : hasFailed ? 'bad' : 'warn'}`}>
        <b>{verdict}.</b>
      </p>
      <p class="soft webhooks-note">
        {name && (
          <>
            Event <code>{name}</code> {event && <code>{event}</code>}.{' '}
          </>
        )}
        <a href={endpointHref(endpoint)}>Open the endpoint</a>
      </p>
    </div>
  );
}

function FoundDeliveries({ deliveries }: Pick<Explanation, 'deliveries'>) {
  return (
    <Section title="Deliveries to this endpoint">
      <ul class="webhooks-found">
        {deliveries.map((delivery) => (
          <li key={delivery.id}>
            <a href={`${HOME}/deliveries/${delivery.id}`}>
              <code>{delivery.id}</code>
            </a>{' '}
            <DeliveryState delivery={delivery} />
            <span class="soft">{delivery.error}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Answer({ query, endpoint }: { query: URLSearchParams; endpoint: string }) {
  const { data, error } = useLoaded<Explanation>(`/webhooks/explain?${query}`);
  if (error !== undefined)
    return (
      <p class="banner warn" role="status">
        {[error.message, ...Object.values(error.details)].join(' · ')}
      </p>
    );
  if (data === undefined)
    return (
      <p class="soft" role="status">
        Checking…
      </p>
    );
  return (
    <>
      <Verdict explanation={data} endpoint={endpoint} />
      <Section title="Rules, in their order">
        <Rules rules={data.rules} />
        <p class="soft webhooks-note">
          The creation of the endpoint and the deliveries are stored facts. All other rules are evaluated as they are
          now, with the same code that decides about deliveries.
        </p>
      </Section>
      {data.deliveries.length > 0 && <FoundDeliveries deliveries={data.deliveries} />}
    </>
  );
}

/** Explains why an endpoint did or did not get an event. */
export function ExplainPage() {
  const query = chosenParams(['endpoint', 'event', 'record', 'name']);
  const endpoint = query.get('endpoint');
  const isAsked = query.get('event') || (query.get('record') && query.get('name'));
  return (
    <Page title="Explain" intro="Why did an endpoint get an event, or not? Each rule that decides about it is checked.">
      <Question key={query.toString()} />
      {endpoint && isAsked ? (
        <Answer query={query} endpoint={endpoint} />
      ) : (
        <Nothing title="Choose an endpoint and an event">
          <p>
            The answer lists each rule: subscription, state, owner, scope filter, read policy, API key and the log of
            deliveries.
          </p>
        </Nothing>
      )}
    </Page>
  );
}
