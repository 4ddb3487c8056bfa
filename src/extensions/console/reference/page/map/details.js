import { dataHref, Facts, hrefOf, html, IconButton, Section } from 'belfry/console';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { policyInWords } from '../policy.js';
import { fieldType, incomingOf, markersOf, ON_DELETE } from './boxes.js';

const ACTIONS = ['list', 'read', 'create', 'update', 'delete'];

const resourceHref = (name) => hrefOf('/console/reference/map/resources', new URLSearchParams({ resource: name }));

/** A link to the details of a resource. */
const ToResource = ({ name }) => html`<a href=${resourceHref(name)}>${name}</a>`;

function FieldList({ fields }) {
  return html`<ul class="reference-members">
    ${fields.map(
      (field) => html`<li key=${field.name} class="reference-member">
        <p class="reference-member-head">
          <code class="reference-name">${field.name}</code><span class="reference-type">${fieldType(field)}</span>
          ${field.required && html`<span class="reference-required">required</span>`}
          ${markersOf(field).map((text) => html`<span key=${text} class="chip">${text}</span>`)}
        </p>
        ${field.description && html`<p class="soft">${field.description}</p>`}
        ${field.values && html`<span class="reference-values">${field.values.map((value) => html`<code key=${value}>${value}</code>`)}</span>`}
        ${field.visibleTo && html`<p class="soft">Seen by <code>${field.visibleTo}</code></p>`}
        ${field.writableBy && html`<p class="soft">Set by <code>${field.writableBy}</code></p>`}
      </li>`,
    )}
  </ul>`;
}

function Policies({ mapped, resource }) {
  return html`<dl class="reference-policies">
    ${ACTIONS.map((action) => {
      const rule = mapped.access[action];
      return html`<div key=${action}>
        <dt>${action}</dt>
        <dd>${rule ? html`${policyInWords(rule.text, action)} <code>${rule.text}</code>` : html`<span class="soft">no route</span>`}</dd>
      </div>`;
    })}
    <div><dt>reference</dt><dd>${policyInWords(mapped.reference.text)} <code>${mapped.reference.text}</code></dd></div>
    ${mapped.routes.map(
      ({ method, path, access }) => html`<div key=${`${method} ${path}`}>
        <dt><code>${method} ${path}</code></dt>
        <dd>${policyInWords(access.text)} <code>${access.text}</code></dd>
      </div>`,
    )}
    ${
      resource.hasScope &&
      html`<div><dt>scope</dt><dd>A function limits which records exist for a viewer, whatever the policies allow.</dd></div>`
    }
  </dl>`;
}

function Relations({ mapped, all }) {
  const incoming = incomingOf(mapped.name, all);
  if (mapped.references.length + incoming.length === 0)
    return html`<p class="soft">No reference leads from or to this resource.</p>`;
  return html`<ul class="reference-relations">
    ${mapped.references.map(
      ({ field, target, many, onDelete }) => html`<li key=${field}>
        <code>${field}</code> → <${ToResource} name=${target} />${many && ' (list)'}
        <span class="soft">if it is deleted, this record ${ON_DELETE[onDelete]}</span>
      </li>`,
    )}
    ${incoming.map(
      ({ from, field, onDelete }) => html`<li key=${`${from}.${field}`}>
        ← <${ToResource} name=${from} /><code>.${field}</code>
        <span class="soft">if this record is deleted, the other ${ON_DELETE[onDelete]}</span>
      </li>`,
    )}
  </ul>`;
}

const list = (items) => (items.length === 0 ? undefined : items.join(', '));

/** Everything that the app declares about a resource. @param {{ takesFocus: boolean }} props `takesFocus`: the details replace the list */
export function ResourceDetails({ resource, mapped, all, onClose, takesFocus }) {
  const heading = useRef(null);
  useLayoutEffect(() => {
    if (takesFocus) heading.current.focus();
  }, []);
  const { name, label, description, path, ownerField, defaultSort, softDelete, audit, timestamps } = resource;
  const features = Object.entries({ 'soft delete': softDelete, 'audit trail': audit, timestamps }).filter(
    ([, isOn]) => isOn,
  );
  const apiPath = `/api/${path.replace(/^\/?(api\/)?/, '')}`;
  const handleKey = (event) => {
    if (event.key === 'Escape') onClose();
  };
  return html`<aside class="reference-details" aria-label=${`Resource ${name}`} onKeyDown=${handleKey}>
    <header>
      <h2 ref=${heading} tabindex="-1">${label}</h2>
      <${IconButton} icon="close" label="Close the details" onClick=${onClose} />
    </header>
    ${description && html`<p class="reference-text">${description}</p>`}
    <p class="reference-links">
      <a href=${dataHref([name])}>Records</a>
      <a href=${hrefOf('/console/reference', new URLSearchParams({ q: apiPath }))}>Routes</a>
    </p>
    <${Facts}
      of=${[
        ['Path', html`<code>${apiPath}</code>`],
        ['Owner', ownerField && html`<code>${ownerField}</code>`],
        ['Order of lists', html`<code>${defaultSort}</code>`],
        ['Features', list(features.map(([one]) => one))],
        ['Hooks', list(mapped.hooks)],
        ['Webhook events', list(mapped.events)],
        ['Indexes', list(mapped.indexes.map(({ fields, unique }) => fields.join(' + ') + (unique ? ' (unique)' : '')))],
      ]}
    />
    <${Section} title="Fields"><${FieldList} fields=${resource.fields} /><//>
    <${Section} title="Policies"><${Policies} mapped=${mapped} resource=${resource} /><//>
    <${Section} title="Relations"><${Relations} mapped=${mapped} all=${all} /><//>
  </aside>`;
}
