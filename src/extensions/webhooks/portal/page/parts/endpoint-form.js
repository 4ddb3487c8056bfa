import { html } from 'htm/preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { link } from '../session.js';
import { Field, Notice } from './controls.js';
import { EventPicker } from './event-picker.js';

const SECOND = 1;

/** The fields whose errors are shown next to them. */
const FIELDS = ['url', 'description', 'events', 'rateLimit'];

function readRateLimit(form) {
  const limit = Number(form.get('limit'));
  return limit > 0 ? { limit, windowSeconds: Number(form.get('window')) || SECOND } : null;
}

/** The form of an endpoint. `onSubmit` gets the body of the request. */
export function EndpointForm({ endpoint = {}, isNew = false, busy, error, label, onSubmit, onCancel }) {
  const [events, setEvents] = useState(endpoint.events ?? []);
  const form = useRef();
  const details = error?.details ?? {};
  const errorOf = (name) => Object.entries(details).find(([key]) => key === name || key.startsWith(`${name}.`))?.[1];
  const others = Object.entries(details).filter(
    ([key]) => !FIELDS.some((name) => key === name || key.startsWith(`${name}.`)),
  );
  // Not `useEffect`, which runs after the next paint: a key pressed before then would reach the button.
  useLayoutEffect(() => {
    if (error) form.current.querySelector('[aria-invalid]')?.focus();
  }, [error]);
  const submit = (event) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    onSubmit({
      url: data.get('url'),
      description: data.get('description') || null,
      events,
      ordered: data.get('ordered') === 'on',
      rateLimit: readRateLimit(data),
      ...(isNew ? { signing: data.get('signing') } : {}),
      ...(isNew && link.value.includeGlobal ? { scope: data.get('scope') } : {}),
    });
  };
  const { limit, windowSeconds } = endpoint.rateLimit ?? {};
  return html`<form onSubmit=${submit} ref=${form} novalidate>
    <${Field} id="url" label="URL" hint="The address of your server that receives the events." error=${errorOf('url')}
      render=${(
        given,
      ) => html`<input ...${given} name="url" type="url" inputmode="url" autocomplete="url" spellcheck="false" required
        placeholder="https://example.com/webhooks" defaultValue=${endpoint.url ?? ''} />`} />
    <${Field} id="description" label="Description (optional)" error=${errorOf('description')}
      render=${(given) => html`<input ...${given} name="description" maxlength="500" defaultValue=${endpoint.description ?? ''} />`} />
    <${EventPicker} chosen=${events} onChange=${setEvents} error=${errorOf('events') && (events.length === 0 ? 'Choose at least one event.' : errorOf('events'))} />
    <details class="advanced" open=${errorOf('rateLimit') !== undefined}>
      <summary>Advanced</summary>
      <label class="check"><input type="checkbox" name="ordered" defaultChecked=${endpoint.ordered ?? false} />
        <span>Deliver in order<br /><span class="soft">One request at a time. A failing delivery holds up all later ones.</span></span></label>
      <${Field} id="limit" label="Maximum number of requests" hint="Empty: no limit." error=${errorOf('rateLimit')}
        render=${(given) => html`<div class="row">
          <input ...${given} name="limit" type="number" min="1" max="10000" defaultValue=${limit ?? ''} />
          <label class="inline">in <input name="window" type="number" min="1" max="3600" defaultValue=${windowSeconds ?? SECOND} /> seconds</label>
        </div>`} />
      ${
        isNew &&
        html`<${Field} id="signing" label="Signature"
        render=${(given) => html`<select ...${given} name="signing">
          <option value="v1">With a shared secret</option>
          <option value="v1a">With a shared secret and a public key</option>
        </select>`} />`
      }
      ${
        isNew &&
        link.value.includeGlobal &&
        html`<${Field} id="scope" label="Records"
        render=${(given) => html`<select ...${given} name="scope">
          <option value="own">Records that you may read</option>
          <option value="global">Records of all users</option>
        </select>`} />`
      }
    </details>
    <${Notice} kind="bad">${
      error &&
      html`<p>${others.length === 0 && Object.keys(details).length > 0 ? 'Check the marked fields.' : error.message}</p>
      ${others.map(([name, text]) => html`<p key=${name}>${name}: ${text}</p>`)}`
    }<//>
    <div class="row">
      <button class="primary" disabled=${busy}>${busy ? 'Saving…' : label}</button>
      ${onCancel && html`<button type="button" onClick=${onCancel}>Cancel</button>`}
    </div>
  </form>`;
}
