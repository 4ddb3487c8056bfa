import {
  allowLeaving,
  Code,
  call,
  Dialog,
  html,
  Loaded,
  navigate,
  openDialog,
  Page,
  place,
  ReferencePicker,
  showError,
  showToast,
  useLeaveGuard,
  useLoaded,
  useReferenceLabel,
  userResource,
} from 'belfry/console';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { endpointHref, HOME } from './states.js';

const FILTER_FROM = 12;
const groupOf = (name) => name.slice(0, name.indexOf('.'));

/**
 * Shows a new secret, which the server never returns again.
 *
 * @param {{ secret: string, publicKey?: string }} endpoint
 * @returns {Promise<void>} when the user has closed the dialog
 */
export function showSecret({ secret, publicKey }) {
  return openDialog(
    ({ close }) => html`<${Dialog} title="The secret of the endpoint" onClose=${() => close()}>
      <p>Give it to the operator of the receiver, which verifies signatures with it. It is shown only now.</p>
      <${Code} text=${secret} label="Secret" />
      ${publicKey && html`<p>A receiver can verify with the public key instead:</p><${Code} text=${publicKey} label="Public key" />`}
      <footer><button type="button" class="primary" onClick=${() => close()}>I have stored it</button></footer>
    <//>`,
  );
}

/** A labelled control with its error and an explanation. */
function Field({ id, label, hint, error, children }) {
  return html`<div class="form-field">
    <label for=${id}>${label}</label>
    ${children}
    ${error && html`<p class="field-error" id=${`${id}-error`}>${error}</p>`}
    ${hint && html`<p class="soft webhooks-note">${hint}</p>`}
  </div>`;
}

/** Chooses events: all, the events of a group, or single ones. @param {{ chosen: string[], onChange: (names: string[]) => void, error?: string }} props */
export function EventPicker({ chosen, onChange, error }) {
  const { data: events = [] } = useLoaded('/webhooks/events');
  const [filter, setFilter] = useState('');
  const hasAll = chosen.includes('*');
  const toggle = (name, isPart = () => false) =>
    onChange(
      chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen.filter((one) => !isPart(one)), name],
    );
  const shown = events.filter(({ name, description }) =>
    `${name} ${description}`.toLowerCase().includes(filter.trim().toLowerCase()),
  );
  return html`<fieldset class="webhooks-picker" aria-describedby=${error ? 'webhooks-events-error' : undefined}>
    <legend>Events</legend>
    ${error && html`<p class="field-error" id="webhooks-events-error">${error}</p>`}
    <label class="check">
      <input type="checkbox" checked=${hasAll} onChange=${() => toggle('*', () => true)} />All events, including future ones
    </label>
    ${
      events.length >= FILTER_FROM &&
      html`<input type="search" aria-label="Filter the events" placeholder="Filter the events" value=${filter} onInput=${(event) => setFilter(event.target.value)} />`
    }
    <div class="webhooks-groups" tabindex="0" role="group" aria-label="Single events">
      ${[...Map.groupBy(shown, ({ name }) => groupOf(name))].map(([group, own]) => {
        const wildcard = `${group}.*`;
        const hasGroup = hasAll || chosen.includes(wildcard);
        return html`<div key=${group} role="group" aria-label=${`Events of ${group}`}>
          <label class="check">
            <input type="checkbox" checked=${hasGroup} disabled=${hasAll} onChange=${() => toggle(wildcard, (one) => groupOf(one) === group)} />
            <b>${wildcard}</b>
          </label>
          ${own.map(
            ({ name, description }) => html`<label key=${name} class="check" title=${description}>
              <input type="checkbox" checked=${hasGroup || chosen.includes(name)} disabled=${hasGroup} onChange=${() => toggle(name)} />${name}
            </label>`,
          )}
        </div>`;
      })}
    </div>
  </fieldset>`;
}

/** Reads the fields of the form, except the owner and the events. */
function readValues(form, isNew) {
  const data = new FormData(form);
  const limit = Number(data.get('limit'));
  return {
    url: data.get('url').trim(),
    description: data.get('description').trim() || null,
    ordered: data.get('ordered') === 'on',
    rateLimit: limit > 0 ? { limit, windowSeconds: Number(data.get('window')) || 1 } : null,
    ...(isNew ? { scope: data.get('scope'), signing: data.get('signing') } : {}),
  };
}

/** The fields that only a new endpoint has. */
function KindFields({ given, errorOf }) {
  return html`<div class="webhooks-pair">
    <${Field} id="webhooks-scope" label="Records" error=${errorOf('scope')}>
      <select ...${given('scope')}>
        <option value="own">that the owner may read</option>
        <option value="global">of all users, as far as the owner may have global endpoints</option>
      </select>
    <//>
    <${Field} id="webhooks-signing" label="Signature" error=${errorOf('signing')}>
      <select ...${given('signing')}>
        <option value="v1">with a shared secret</option>
        <option value="v1a">with a shared secret and a public key</option>
      </select>
    <//>
  </div>`;
}

function PaceFields({ endpoint, error }) {
  return html`<details open=${error !== undefined || endpoint?.ordered || Boolean(endpoint?.rateLimit)}>
    <summary>Order and rate</summary>
    <div class="stack">
      <label class="check"><input type="checkbox" name="ordered" defaultChecked=${endpoint?.ordered ?? false} />Deliver in the order of the events: a failing delivery holds up all later ones</label>
      <div class="webhooks-pair">
        <${Field} id="webhooks-limit" label="Requests at most" error=${error} hint="Empty: no limit.">
          <input id="webhooks-limit" name="limit" type="number" min="1" max="10000" defaultValue=${endpoint?.rateLimit?.limit ?? ''} />
        <//>
        <${Field} id="webhooks-window" label="in seconds">
          <input id="webhooks-window" name="window" type="number" min="1" max="3600" defaultValue=${endpoint?.rateLimit?.windowSeconds ?? 1} />
        <//>
      </div>
    </div>
  </details>`;
}

/**
 * The form of an endpoint.
 *
 * @param {{ endpoint?: any, onSubmit: (values: object) => Promise<string>, cancelHref: string }} props `onSubmit`: saves, and returns the path
 *   of the page that follows
 */
function EndpointForm({ endpoint, onSubmit, cancelHref }) {
  const isNew = endpoint === undefined;
  const users = userResource();
  const [owner, setOwner] = useState(place.value.params.get('owner'));
  const label = useReferenceLabel(owner === null ? undefined : users?.name, owner);
  const [events, setEvents] = useState(endpoint?.events ?? []);
  const [error, setError] = useState();
  const [isSaving, setSaving] = useState(false);
  const [isDirty, setDirty] = useState(false);
  useLeaveGuard(isDirty);
  const form = useRef(null);
  const details = error?.details ?? {};
  const errorOf = (name) => Object.entries(details).find(([key]) => key === name || key.startsWith(`${name}.`))?.[1];
  useLayoutEffect(() => {
    if (error !== undefined) form.current.querySelector('[aria-invalid="true"]')?.focus();
  }, [error]);
  const given = (name) => ({
    name,
    id: `webhooks-${name}`,
    'aria-invalid': errorOf(name) ? 'true' : undefined,
    'aria-describedby': errorOf(name) ? `webhooks-${name}-error` : undefined,
  });
  const change = ({ target }) => {
    setError(undefined);
    // The search only filters the events.
    if (target.type !== 'search') setDirty(true);
  };
  const chooseOwner = (id) => {
    setOwner(id ?? null);
    setDirty(true);
  };
  const submit = async (event) => {
    event.preventDefault();
    const values = readValues(form.current, isNew);
    setSaving(true);
    try {
      const href = await onSubmit({ ...values, events, ...(isNew ? { owner: owner ?? '' } : {}) });
      allowLeaving();
      await navigate(href);
    } catch (failure) {
      setError(failure);
      if (Object.keys(failure.details ?? {}).length === 0) showError(failure);
    }
    setSaving(false);
  };
  return html`<form class="webhooks-form stack" ref=${form} onSubmit=${submit} onInput=${change} novalidate>
    ${
      isNew &&
      users &&
      html`<${Field} id="webhooks-owner" label="Owner" error=${errorOf('owner')} hint="The endpoint gets what this user may read. The owner gets an e-mail about it.">
        <${ReferencePicker} id="webhooks-owner" resource=${users.name} value=${owner} label=${label} onChange=${chooseOwner} invalid=${errorOf('owner') !== undefined} describedBy=${errorOf('owner') ? 'webhooks-owner-error' : undefined} />
      <//>`
    }
    <${Field} id="webhooks-url" label="URL" error=${errorOf('url')}>
      <input ...${given('url')} type="url" inputmode="url" autocomplete="off" spellcheck="false" placeholder="https://example.com/webhooks" defaultValue=${endpoint?.url ?? ''} />
    <//>
    <${Field} id="webhooks-description" label="Description (optional)" error=${errorOf('description')}>
      <input ...${given('description')} maxlength="500" defaultValue=${endpoint?.description ?? ''} />
    <//>
    <${EventPicker} chosen=${events} onChange=${setEvents} error=${errorOf('events') && (events.length === 0 ? 'Choose at least one event.' : errorOf('events'))} />
    ${isNew && html`<${KindFields} given=${given} errorOf=${errorOf} />`}
    <${PaceFields} endpoint=${endpoint} error=${errorOf('rateLimit')} />
    <div class="actions">
      <button class="primary" disabled=${isSaving}>${isSaving ? 'Saving…' : isNew ? 'Create' : 'Save'}</button>
      <a class="button" href=${cancelHref}>Cancel</a>
    </div>
  </form>`;
}

/** Creates an endpoint for a chosen owner. */
export function NewEndpointPage() {
  const create = async (body) => {
    const { data } = await call('/webhooks/endpoints', { method: 'POST', body });
    await showSecret(data);
    return endpointHref(data.id);
  };
  return html`<${Page} title="Create an endpoint" back=${{ href: `${HOME}/endpoints`, label: 'Endpoints' }}>
    <${EndpointForm} onSubmit=${create} cancelHref=${`${HOME}/endpoints`} />
  <//>`;
}

/** Changes the URL, the events and the pace of an endpoint. */
export function EditEndpointPage({ id }) {
  const path = `/webhooks/endpoints/${encodeURIComponent(id)}`;
  const loaded = useLoaded(path);
  const save = async (body) => {
    await call(path, { method: 'PATCH', body });
    showToast('Saved');
    return endpointHref(id);
  };
  return html`<${Page} title="Edit the endpoint" back=${{ href: endpointHref(id), label: 'Endpoint' }}>
    <${Loaded} from=${loaded}>
      ${(endpoint) => html`<${EndpointForm} endpoint=${endpoint} onSubmit=${save} cancelHref=${endpointHref(id)} />`}
    <//>
  <//>`;
}
