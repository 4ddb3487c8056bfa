import { html } from 'htm/preact';
import { Badge, Notice, Time, Title, useAction, useData } from '../parts/controls.js';
import { EndpointForm } from '../parts/endpoint-form.js';
import { stateOf } from '../parts/state.js';
import { link, send } from '../session.js';
import { goTo, hrefOf } from '../window.js';
import { newSecrets } from './secret.js';

const STATE_KINDS = { active: 'good', retrying: 'warn', failing: 'warn', disabled: 'off' };
const STATE_TEXTS = { active: 'Active', retrying: 'Retrying', failing: 'Failing', disabled: 'Disabled' };

/** Why an endpoint is disabled. */
const DISABLED_REASONS = {
  gone: 'its server responded with 410 (gone)',
  failing: 'too many deliveries failed in a row',
  manual: 'you disabled it',
  password_reset: 'your password was changed or your sessions were ended',
  key_ended: 'the API key that it belongs to has ended',
};

export function StatusBadge({ endpoint }) {
  const state = stateOf(endpoint);
  return html`<${Badge} kind=${STATE_KINDS[state]}>${STATE_TEXTS[state]}<//>`;
}

/** The state of an endpoint in a sentence. */
export function Health({ endpoint }) {
  const { status, disabledReason, lastSuccessAt, lastFailureAt, lastError } = endpoint;
  return html`<p class="soft health">
    ${status === 'disabled' && html`<span>Disabled because ${DISABLED_REASONS[disabledReason] ?? 'it was switched off'}. </span>`}
    ${lastSuccessAt ? html`<span>Last success <${Time} at=${lastSuccessAt} />. </span>` : html`<span>No successful delivery yet. </span>`}
    ${lastFailureAt && html`<span>Last failure <${Time} at=${lastFailureAt} />${lastError && html`: <span class="cause">${lastError}</span>`}.</span>`}
  </p>`;
}

const describeEvents = (events) => (events.includes('*') ? 'All events' : events.join(', '));

function EndpointCard({ endpoint }) {
  const { id, url, description, events } = endpoint;
  return html`<li class="card endpoint">
    <div class="row spread">
      <h2><a href=${hrefOf(id)}>${url}</a></h2>
      <${StatusBadge} endpoint=${endpoint} />
    </div>
    ${description && html`<p>${description}</p>`}
    <p class="events">${describeEvents(events)}</p>
    <${Health} endpoint=${endpoint} />
  </li>`;
}

function Welcome() {
  return html`<div class="blank card">
    <h2>Receive events as they happen</h2>
    <p>An endpoint is a URL of your server. When a chosen event happens, your endpoint receives a signed HTTP request.</p>
    <ol class="steps">
      <li><strong>Add an endpoint</strong> and choose its events. You see the data of each event beforehand.</li>
      <li><strong>Verify the signature</strong> with the secret of the endpoint. The code is ready to copy.</li>
      <li><strong>Send a test</strong> and see the response of your server.</li>
    </ol>
    <a class="button primary" href=${hrefOf('new')}>Add an endpoint</a>
  </div>`;
}

/** The endpoints of the user with their health. */
export function EndpointList() {
  const { data, error, reload } = useData('endpoints', (signal) => send('', { signal }));
  const endpoints = data?.data;
  const isFull = endpoints !== undefined && endpoints.length >= link.value.maxEndpoints;
  return html`
    <div class="row spread top">
      <${Title}>Webhooks<//>
      ${endpoints?.length > 0 && !isFull && html`<a class="button primary" href=${hrefOf('new')}>Add an endpoint</a>`}
    </div>
    <${Notice} kind="bad">${error && html`<p>${error.message}</p><button type="button" onClick=${reload}>Try again</button>`}<//>
    ${endpoints === undefined && !error && html`<p class="soft" role="status">Loading…</p>`}
    ${endpoints?.length === 0 && html`<${Welcome} />`}
    ${endpoints?.length > 0 && html`<ul class="endpoints">${endpoints.map((each) => html`<${EndpointCard} key=${each.id} endpoint=${each} />`)}</ul>`}
    ${isFull && html`<p class="soft">You have reached the maximum number of endpoints. Delete one to add another.</p>`}
  `;
}

/** The page that creates an endpoint. */
export function NewEndpoint() {
  const { busy, error, run } = useAction();
  const create = (values) =>
    run(async () => {
      const { data } = await send('', { method: 'POST', body: values });
      newSecrets.value = { ...newSecrets.value, [data.id]: data.secret };
      goTo(data.id, 'verify');
    });
  return html`
    <nav aria-label="Back"><a href=${hrefOf()}>← All endpoints</a></nav>
    <${Title}>Add an endpoint<//>
    <div class="card"><${EndpointForm} isNew busy=${busy} error=${error} label="Add the endpoint" onSubmit=${create} /></div>
  `;
}
