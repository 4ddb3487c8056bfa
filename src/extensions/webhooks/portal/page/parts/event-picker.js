import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { send } from '../session.js';
import { Copyable, useData } from './controls.js';

const FILTER_FROM = 10;

const groupOf = (name) => name.slice(0, name.indexOf('.'));

/** The events that can be chosen; read once for all views. */
let catalogue;
export const readCatalogue = () => {
  catalogue ??= send('/events').catch((error) => {
    catalogue = undefined;
    throw error;
  });
  return catalogue;
};

function EventDetails({ name }) {
  const { data, error } = useData(name, (signal) => send(`/event?name=${encodeURIComponent(name)}`, { signal }));
  if (error) return html`<p class="error">${error.message}</p>`;
  if (data === undefined) return html`<p class="soft" role="status">Loading…</p>`;
  const { sample, schema } = data.data;
  return html`<div class="details">
    <p class="label">Sample body</p>
    <${Copyable} block text=${JSON.stringify(sample, null, 2)} label=${`sample of ${name}`} />
    <details><summary>JSON Schema</summary>
      <${Copyable} block text=${JSON.stringify(schema, null, 2)} label=${`schema of ${name}`} />
    </details>
  </div>`;
}

function EventChoice({ event, checked, fixed, onToggle }) {
  const [open, setOpen] = useState(false);
  const { name, description } = event;
  return html`<li>
    <label class="check">
      <input type="checkbox" checked=${checked} disabled=${fixed} onChange=${() => onToggle(name)} />
      <span><code>${name}</code><br /><span class="soft">${description}</span></span>
    </label>
    <button type="button" class="small link" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      ${open ? 'Hide data' : 'Show data'}<span class="visually-hidden"> of ${name}</span>
    </button>
    ${open && html`<${EventDetails} name=${name} />`}
  </li>`;
}

/** Lets the user choose events, with the description, a sample and the schema of each. */
export function EventPicker({ chosen, onChange, error }) {
  const { data, error: failure } = useData('catalogue', readCatalogue);
  const [filter, setFilter] = useState('');
  const events = data?.data ?? [];
  const toggle = (name) => onChange(chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name]);
  // A wildcard contains the events of its group.
  const toggleGroup = (wildcard, isContained) =>
    onChange(
      chosen.includes(wildcard)
        ? chosen.filter((one) => one !== wildcard)
        : [...chosen.filter((one) => !isContained(one)), wildcard],
    );
  const hasAll = chosen.includes('*');
  const shown = events.filter(({ name, description }) =>
    `${name} ${description}`.toLowerCase().includes(filter.trim().toLowerCase()),
  );
  const groups = Map.groupBy(shown, ({ name }) => groupOf(name));
  return html`<fieldset class="events-field" aria-describedby=${error ? 'events-error' : undefined}>
    <legend>Events</legend>
    ${error && html`<p class="error" id="events-error">${error}</p>`}
    ${failure && html`<p class="error">${failure.message}</p>`}
    <label class="check all"><input type="checkbox" checked=${hasAll} aria-invalid=${error ? 'true' : undefined}
      onChange=${() => toggleGroup('*', () => true)} /><span>All events, including future ones</span></label>
    ${
      events.length >= FILTER_FROM &&
      html`<input type="search" aria-label="Filter events" placeholder="Filter events"
      value=${filter} onInput=${({ currentTarget }) => setFilter(currentTarget.value)} />`
    }
    ${[...groups].map(([group, own]) => {
      const wildcard = `${group}.*`;
      const hasGroup = hasAll || chosen.includes(wildcard);
      return html`<div class="group" key=${group} role="group" aria-label=${`Events of ${group}`}>
        ${
          own.length > 1 &&
          html`<label class="check"><input type="checkbox" checked=${hasGroup} disabled=${hasAll}
          onChange=${() => toggleGroup(wildcard, (one) => groupOf(one) === group)} /><span>All <code>${wildcard}</code></span></label>`
        }
        <ul>${own.map(
          (event) => html`<${EventChoice} key=${event.name} event=${event} fixed=${hasGroup}
          checked=${hasGroup || chosen.includes(event.name)} onToggle=${toggle} />`,
        )}</ul>
      </div>`;
    })}
    ${shown.length === 0 && events.length > 0 && html`<p class="soft">No event contains this text.</p>`}
  </fieldset>`;
}
