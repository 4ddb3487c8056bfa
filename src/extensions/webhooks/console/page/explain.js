import { app, call, html, Nothing, Page, place, ReferencePicker, Section, setParams, useLoaded } from 'belfry/console';
import { useEffect, useState } from 'preact/hooks';
import { DeliveryState, endpointHref, HOME } from './states.js';

const NAMES = { pass: 'passes', fail: 'fails', unknown: 'unknown' };
const MARKS = { pass: '✓', fail: '✕', unknown: '?' };

/**
 * Chooses an endpoint by a part of its URL, or by its id.
 *
 * @param {{ value: string, onChange: (text: string) => void, isCompact?: boolean }} props `onChange` gets every text that is typed; `isCompact`:
 *   does not show the id of the chosen endpoint
 */
export function EndpointChoice({ value, onChange, isCompact = false }) {
  const [text, setText] = useState(value);
  const isId = /^[0-9a-f]{24}$/.test(text);
  const { data: found = [] } = useLoaded(
    `/webhooks/endpoints?${new URLSearchParams({ limit: '50', ...(isId ? {} : { q: text.slice(0, 200) }) })}`,
  );
  const { data: endpoint } = useLoaded(isId ? `/webhooks/endpoints/${text}` : undefined);
  const shown = endpoint === undefined ? text : endpoint.url.replace(/^https?:\/\//, '');
  return html`<div class="form-field">
    <label for="webhooks-endpoint">Endpoint</label>
    <input
      id="webhooks-endpoint"
      list="webhooks-endpoints"
      spellcheck="false"
      autocomplete="off"
      placeholder="Type a part of the URL, or the id"
      value=${shown}
      onInput=${(event) => {
        setText(event.target.value.trim());
        onChange(event.target.value.trim());
      }}
    />
    <datalist id="webhooks-endpoints">
      ${found.map(({ id, url }) => html`<option key=${id} value=${id}>${url}</option>`)}
    </datalist>
    ${!isCompact && html`<p class="soft webhooks-note">${endpoint ? html`<code>${text}</code>` : 'Choose one from the list.'}</p>`}
  </div>`;
}

function RecordChoice({ params, record, onRecord, name, onName }) {
  const { data: { resources = [] } = {} } = useLoaded('/webhooks/facts');
  const { data: events = [] } = useLoaded('/webhooks/events');
  const known = app.value.resources.filter((resource) => resources.includes(resource.name));
  const [resource, setResource] = useState(params.get('name')?.split('.')[0] ?? known[0]?.name);
  const chosen = resource ?? known[0]?.name;
  const names = events.filter((event) => event.name.startsWith(`${chosen}.`));
  useEffect(() => {
    if (names.length > 0 && !names.some((event) => event.name === name)) onName(names[0].name);
  }, [chosen, names.length]);
  return html`<label>Resource
      <select value=${chosen} onChange=${(event) => {
        setResource(event.target.value);
        onRecord('');
      }}>
        ${known.map((one) => html`<option key=${one.name} value=${one.name}>${one.label}</option>`)}
      </select>
    </label>
    <div class="form-field">
      <label for="webhooks-record">Record</label>
      ${
        chosen !== undefined &&
        html`<${ReferencePicker} key=${chosen} id="webhooks-record" resource=${chosen} value=${record || null} onChange=${(id) => onRecord(id ?? '')} />`
      }
    </div>
    <label>Change
      <select value=${name} onChange=${(event) => onName(event.target.value)}>
        ${names.map((event) => html`<option key=${event.name} value=${event.name}>${event.name}</option>`)}
      </select>
    </label>`;
}

function Question() {
  const { params } = place.value;
  const [endpoint, setEndpoint] = useState(params.get('endpoint') ?? '');
  const [isByRecord, setByRecord] = useState(params.has('record'));
  const [event, setEvent] = useState(params.get('event') ?? '');
  const [record, setRecord] = useState(params.get('record') ?? '');
  const [name, setName] = useState(params.get('name') ?? '');
  const ask = (submitted) => {
    submitted.preventDefault();
    const about = isByRecord
      ? { record, name, event: undefined }
      : { event: event.trim(), record: undefined, name: undefined };
    setParams({ endpoint, ...about });
  };
  const kind = (byRecord, label) => html`<label class="check">
    <input type="radio" name="kind" checked=${isByRecord === byRecord} onChange=${() => setByRecord(byRecord)} />${label}
  </label>`;
  return html`<form class="card webhooks-question" onSubmit=${ask} aria-label="Question">
    <${EndpointChoice} value=${endpoint} onChange=${setEndpoint} />
    <div class="webhooks-kinds" role="radiogroup" aria-label="How the event is known">
      ${kind(false, 'an event or a delivery, by its id')}${kind(true, 'a change of a record')}
    </div>
    <div class="filters webhooks-filters">
      ${
        isByRecord
          ? html`<${RecordChoice} params=${params} record=${record} onRecord=${setRecord} name=${name} onName=${setName} />`
          : html`<label>Id of the event, or of a delivery to any endpoint
              <input value=${event} spellcheck="false" autocomplete="off" placeholder="65f0c1d2e3a4b5c6d7e8f901" onInput=${(typed) => setEvent(typed.target.value)} />
            </label>`
      }
      <button class="primary" disabled=${endpoint === '' || (isByRecord ? record === '' || name === '' : event.trim() === '')}>Explain</button>
    </div>
  </form>`;
}

function Rules({ rules }) {
  return html`<ol class="webhooks-rules">
    ${rules.map(
      ({ rule, result, text }) => html`<li key=${rule} class=${result}>
        <span class="webhooks-mark" aria-hidden="true">${MARKS[result]}</span>
        <span><b>${rule}</b> <span class="visually-hidden">${NAMES[result]}</span><br />${text}</span>
      </li>`,
    )}
  </ol>`;
}

function Answer({ path }) {
  const [answer, setAnswer] = useState({ path: undefined });
  useEffect(() => {
    call(path).then(
      ({ data }) => setAnswer({ path, data }),
      (error) => setAnswer({ path, error }),
    );
  }, [path]);
  if (answer.path !== path) return html`<p class="soft" role="status">Checking…</p>`;
  if (answer.error)
    return html`<p class="banner warn" role="status">${[answer.error.message, ...Object.values(answer.error.details ?? {})].join(' · ')}</p>`;
  const { name, event, verdict, isDelivered, rules, deliveries } = answer.data;
  const hasFailed = rules.some(({ result }) => result === 'fail') || deliveries[0]?.status === 'failed';
  const endpoint = new URLSearchParams(path.slice(path.indexOf('?'))).get('endpoint');
  return html`<div role="status">
      <p class=${`banner webhooks-verdict ${isDelivered ? 'good' : hasFailed ? 'bad' : 'warn'}`}><b>${verdict}.</b></p>
      <p class="soft webhooks-note">
        ${name && html`Event <code>${name}</code>${event && html` <code>${event}</code>`}. `}
        <a href=${endpointHref(endpoint)}>Open the endpoint</a>
      </p>
    </div>
    <${Section} title="Rules, in their order">
      <${Rules} rules=${rules} />
      <p class="soft webhooks-note">The creation of the endpoint and the deliveries are stored facts. All other rules are evaluated as they are now, with the same code that decides about deliveries.</p>
    <//>
    ${
      deliveries.length > 0 &&
      html`<${Section} title="Deliveries to this endpoint">
        <ul class="webhooks-found">
          ${deliveries.map(
            (delivery) => html`<li key=${delivery.id}>
              <a href=${`${HOME}/deliveries/${delivery.id}`}><code>${delivery.id}</code></a> <${DeliveryState} delivery=${delivery} />
              <span class="soft">${delivery.error}</span>
            </li>`,
          )}
        </ul>
      <//>`
    }`;
}

/** Explains why an endpoint did or did not get an event. */
export function ExplainPage() {
  const { params } = place.value;
  const names = ['endpoint', 'event', 'record', 'name'];
  const query = new URLSearchParams(names.flatMap((name) => (params.get(name) ? [[name, params.get(name)]] : [])));
  const isAsked = query.has('endpoint') && (query.has('event') || (query.has('record') && query.has('name')));
  return html`<${Page} title="Explain" intro="Why did an endpoint get an event, or not? Each rule that decides about it is checked.">
    <${Question} key=${query.toString()} />
    ${
      isAsked
        ? html`<${Answer} path=${`/webhooks/explain?${query}`} />`
        : html`<${Nothing} title="Choose an endpoint and an event">
            <p>The answer lists each rule: subscription, state, owner, scope filter, read policy, API key and the log of deliveries.</p>
          <//>`
    }
  <//>`;
}
