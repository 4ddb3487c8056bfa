import { chosenParams, Nothing, Page, Section, useLoaded } from '../../console/kit.ts';
import { richText } from '../../kit/rich-text.ts';
import { Question } from './question.tsx';
import type { Explanation, Rule } from './responses.ts';
import { DeliveryState, endpointHref, HOME } from './states.tsx';
import { texts } from './texts.ts';

const NAMES: Readonly<Record<string, string>> = texts.explain.names;
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
            <b>{NAMES[rule] ?? rule}</b> <span class="visually-hidden">{texts.explain.results[result]}</span>
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
        {name &&
          richText(event === null ? texts.explain.event : texts.explain.eventWithId, {
            name: <code>{name}</code>,
            id: <code>{event}</code>,
          })}{' '}
        <a href={endpointHref(endpoint)}>{texts.explain.openEndpoint}</a>
      </p>
    </div>
  );
}

function FoundDeliveries({ deliveries }: Pick<Explanation, 'deliveries'>) {
  return (
    <Section title={texts.explain.deliveries}>
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
        {texts.explain.checking}
      </p>
    );
  return (
    <>
      <Verdict explanation={data} endpoint={endpoint} />
      <Section title={texts.explain.rules}>
        <Rules rules={data.rules} />
        <p class="soft webhooks-note">{texts.explain.note}</p>
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
    <Page title={texts.sections.explain} intro={texts.explain.intro}>
      <Question key={query.toString()} />
      {endpoint && isAsked ? (
        <Answer query={query} endpoint={endpoint} />
      ) : (
        <Nothing title={texts.explain.empty}>
          <p>{texts.explain.emptyText}</p>
        </Nothing>
      )}
    </Page>
  );
}
