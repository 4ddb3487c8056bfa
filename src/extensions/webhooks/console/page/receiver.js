import {
  ActionButton,
  Code,
  call,
  html,
  Loaded,
  Nothing,
  Page,
  ReferencePicker,
  Section,
  Status,
  showError,
  Time,
  useLoaded,
  useReferenceLabel,
  userResource,
} from 'belfry/console';
import { useState } from 'preact/hooks';
import { EventPicker } from './endpoint-form.js';
import { EndpointState, EventNames, endpointHref, Owner } from './states.js';

const REFRESH_MS = 2000;
const ANSWERS = {
  accept: '204 No Content (accepts)',
  fail: '500 Internal Server Error (fails)',
  slow: '204 No Content after 5 seconds (slow)',
  gone: '410 Gone (disables the endpoint)',
};

const CLEAR = {
  title: 'Clear all received requests?',
  text: 'They exist only in the memory of this process. The log of deliveries stays.',
  action: 'Clear',
  isDangerous: true,
};

const nameOf = (url) => url.slice(url.lastIndexOf('/') + 1);

function CreateEndpoint({ onCreated }) {
  const users = userResource();
  const [owner, setOwner] = useState(null);
  const label = useReferenceLabel(owner === null ? undefined : users?.name, owner);
  const [events, setEvents] = useState(['*']);
  const create = async () => {
    await call('/webhooks/receiver/endpoints', { method: 'POST', body: { owner: owner ?? '', events } });
    await onCreated();
  };
  return html`<details class="card">
    <summary>Create an endpoint for the receiver</summary>
    <div class="stack webhooks-form">
      <div class="form-field">
        <label for="webhooks-receiver-owner">Owner</label>
        ${users && html`<${ReferencePicker} id="webhooks-receiver-owner" resource=${users.name} value=${owner} label=${label} onChange=${(id) => setOwner(id ?? null)} />`}
      </div>
      <${EventPicker} chosen=${events} onChange=${setEvents} />
      <div class="actions"><${ActionButton} kind="primary" run=${create} done="The endpoint is created" disabled=${owner === null || events.length === 0}>Create<//></div>
    </div>
  </details>`;
}

function ReceiverEndpoint({ endpoint, answer, onChanged }) {
  const { id, url, owner, events, state, enabled } = endpoint;
  const choose = async (event) => {
    try {
      await call('/webhooks/receiver/answer', {
        method: 'POST',
        body: { name: nameOf(url), answer: event.target.value },
      });
      await onChanged();
    } catch (error) {
      showError(error);
    }
  };
  return html`<li class="card">
    <p><a href=${endpointHref(id)}>Receiver ${nameOf(url)}</a> <${EndpointState} state=${state} /> of <${Owner} id=${owner} /> <${EventNames} names=${events} most=${3} /></p>
    <div class="filters webhooks-filters">
      <label>Response
        <select value=${answer ?? 'accept'} onChange=${choose}>
          ${Object.entries(ANSWERS).map(([value, text]) => html`<option key=${value} value=${value}>${text}</option>`)}
        </select>
      </label>
      <${ActionButton} run=${() => call(`/webhooks/endpoints/${id}/test`, { method: 'POST' })} disabled=${!enabled} label=${`Send a test to receiver ${nameOf(url)}`}>Send a test<//>
    </div>
    <p class="soft webhooks-note">The response is reset to 204 when the process restarts.</p>
  </li>`;
}

function Content({ id }) {
  const loaded = useLoaded(`/webhooks/receiver/requests/${id}`);
  return html`<${Loaded} from=${loaded}>
    ${({ headers, body, verification }) => html`<p>${verification.message}.</p>
      <${Code} text=${Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}`)
        .join('\n')} label="Headers" />
      <${Code} text=${body} label="Body" />`}
  <//>`;
}

function Request({ request: { id, at, name, type, verification, status, bytes } }) {
  const [isOpen, setOpen] = useState(false);
  return html`<li>
    <button type="button" class="webhooks-summary" aria-expanded=${isOpen ? 'true' : 'false'} onClick=${() => setOpen(!isOpen)}>
      <${Status} kind=${verification.isValid ? 'good' : 'bad'}>${verification.isValid ? 'valid' : verification.code.toLowerCase().replaceAll('_', ' ')}<//>
      <b>${type ?? 'unknown event'}</b>
      <span class="soft">responded ${status} · ${bytes.toLocaleString('en')} B · ${name} · <${Time} value=${at} /></span>
    </button>
    ${isOpen && html`<div class="stack webhooks-opened"><${Content} id=${id} /></div>`}
  </li>`;
}

/** The receiver of development: what arrived, and how it responds. */
export function ReceiverPage() {
  const received = useLoaded('/webhooks/receiver', { everyMs: REFRESH_MS });
  const endpoints = useLoaded('/webhooks/endpoints?limit=100&q=%2Fconsole%2Freceiver%2F', { everyMs: REFRESH_MS });
  const reload = () => Promise.all([received.reload(), endpoints.reload()]);
  const clear = async () => {
    await call('/webhooks/receiver/requests', { method: 'DELETE' });
    await received.reload();
  };
  return html`<${Page}
    title="Receiver"
    intro="Receives deliveries on this machine instead of a server of your own, and verifies their signatures. It exists in development only."
    actions=${received.data?.requests.length > 0 && html`<${ActionButton} run=${clear} confirm=${CLEAR} done="The requests are cleared">Clear<//>`}
  >
    <${Loaded} from=${received}>
      ${({ obstacle, requests, answers }) => html`
        ${
          obstacle === null
            ? html`<${CreateEndpoint} onCreated=${reload} />`
            : html`<p class="banner warn">No endpoint can lead to the receiver: ${obstacle}.</p>`
        }
        ${
          endpoints.data?.length > 0 &&
          html`<${Section} title="Endpoints">
            <ul class="webhooks-list">${endpoints.data.map((endpoint) => html`<${ReceiverEndpoint} key=${endpoint.id} endpoint=${endpoint} answer=${answers[nameOf(endpoint.url)]} onChanged=${reload} />`)}</ul>
          <//>`
        }
        <${Section} title="Requests, newest first">
          ${
            requests.length === 0
              ? html`<${Nothing} title="Nothing arrived yet"><p>Create an endpoint for the receiver, then change a record or send a test. The newest 100 requests are kept in memory.</p><//>`
              : html`<ol class="webhooks-requests">${requests.map((request) => html`<${Request} key=${request.id} request=${request} />`)}</ol>`
          }
        <//>
      `}
    <//>
  <//>`;
}
