import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { Icon, IconButton } from '../../components/icons.js';
import { ReferencePicker } from '../../components/reference-picker.js';
import { dataHref, resourceOf } from '../schema.js';

const idOf = (value) => (typeof value === 'object' && value !== null ? value.id : value);

/** A reference: a search for the record, and a link to the current one. */
export function ReferenceEditor({ id, field, value, onChange, labels, invalid, describedBy }) {
  const [chosen, setChosen] = useState({});
  const current = idOf(value);
  const label = chosen[current] ?? labels?.[field.target]?.[current];
  if (resourceOf(field.target) === undefined)
    return html`<input id=${id} value=${current ?? ''} onInput=${(event) => onChange(event.target.value.trim() || null)} />`;
  return html`<div class="reference-row">
    <${ReferencePicker}
      id=${id}
      resource=${field.target}
      value=${current ?? null}
      label=${label}
      invalid=${invalid}
      describedBy=${describedBy}
      onChange=${(next, nextLabel) => {
        setChosen({ ...chosen, [next]: nextLabel });
        onChange(next);
      }}
    />
    ${current && html`<a class="button" href=${dataHref([field.target, current])} aria-label=${`Open ${label ?? current}`}><${Icon} name="link" />Open</a>`}
  </div>`;
}

function move(items, from, to) {
  const next = [...items];
  next.splice(to, 0, ...next.splice(from, 1));
  return next;
}

const without = (items, index) => items.filter((_, at) => at !== index);

/** The buttons that move and remove an item of a list. */
function ItemTools({ index, count, name, onMove, onRemove }) {
  return html`<span class="item-tools">
    <${IconButton} icon="arrowUp" label=${`Move item ${index + 1} of ${name} up`} disabled=${index === 0} onClick=${() => onMove(index - 1)} />
    <${IconButton} icon="arrowDown" label=${`Move item ${index + 1} of ${name} down`} disabled=${index === count - 1} onClick=${() => onMove(index + 1)} />
    <${IconButton} icon="trash" label=${`Remove item ${index + 1} of ${name}`} onClick=${onRemove} />
  </span>`;
}

/** References to several records, in an order. */
export function ReferencesEditor({ id, field, value, onChange, labels }) {
  const [chosen, setChosen] = useState({});
  const ids = Array.isArray(value) ? value.map(idOf) : [];
  const labelOf = (one) => chosen[one] ?? labels?.[field.target]?.[one] ?? one;
  const add = (next, label) => {
    setChosen({ ...chosen, [next]: label });
    if (!ids.includes(next)) onChange([...ids, next]);
  };
  return html`<ol class="items">
      ${ids.map(
        (one, index) => html`<li key=${one}>
          <a class="item-value" href=${dataHref([field.target, one])}>${labelOf(one)}</a>
          <${ItemTools} index=${index} count=${ids.length} name=${field.name} onMove=${(to) => onChange(move(ids, index, to))} onRemove=${() => onChange(without(ids, index))} />
        </li>`,
      )}
    </ol>
    <label class="visually-hidden" for=${id}>Add to ${field.name}</label>
    <${ReferencePicker} id=${id} resource=${field.target} value=${null} placeholder=${`Add a ${field.target}`} onChange=${add} />`;
}

const EMPTY_ITEMS = { boolean: false, object: {}, array: [], refs: [] };
const emptyItem = ({ type }) => structuredClone(EMPTY_ITEMS[type] ?? null);

/** A list of values: add, change, move, remove. `Inner`: the editor of an item. */
export function ArrayEditor({ id, field, value, onChange, labels, resource, Inner }) {
  const items = Array.isArray(value) ? value : [];
  const { inner } = field;
  if (!inner)
    return html`<${Inner} id=${id} field=${{ ...field, type: 'json' }} value=${value} onChange=${onChange} />`;
  if (inner.type === 'ref')
    return html`<${ReferencesEditor} id=${id} field=${{ ...field, target: inner.target }} value=${value} onChange=${onChange} labels=${labels} />`;
  // The items of a list of files are the files themselves; new ones are uploaded for the field.
  const itemField = { ...inner, name: inner.type === 'file' ? field.name : `${field.name} ${inner.type}` };
  return html`<ol class="items">
      ${items.map(
        (item, index) => html`<li key=${index}>
          <div class="item-value">
            <label class="visually-hidden" for=${`${id}-${index}`}>Item ${index + 1} of ${field.name}</label>
            <${Inner}
              id=${`${id}-${index}`}
              field=${itemField}
              resource=${resource}
              value=${item}
              labels=${labels}
              onChange=${(next) => onChange(items.map((one, at) => (at === index ? next : one)))}
            />
          </div>
          <${ItemTools} index=${index} count=${items.length} name=${field.name} onMove=${(to) => onChange(move(items, index, to))} onRemove=${() => onChange(without(items, index))} />
        </li>`,
      )}
    </ol>
    <button type="button" id=${id} onClick=${() => onChange([...items, emptyItem(inner)])}><${Icon} name="add" />Add an item</button>`;
}

/** The fields of an object. An optional object has no value until it is added. */
export function ObjectEditor({ id, field, value, onChange, labels, resource, Inner }) {
  const shape = field.shape ?? [];
  if (value === null || value === undefined)
    return html`<button type="button" id=${id} onClick=${() => onChange({})}><${Icon} name="add" />Add a value</button>`;
  return html`<div class="object">
    ${shape.map((member) => {
      const memberId = `${id}-${member.name}`;
      return html`<div class="field" key=${member.name}>
        <div class="field-head">
          <label class="name" for=${memberId}>${member.name}${member.required && html`<span class="required" title="Required">*</span>`}</label>
          <span class="type">${member.type}</span>
        </div>
        <${Inner}
          id=${memberId}
          field=${member}
          resource=${resource}
          value=${Object.hasOwn(value, member.name) ? value[member.name] : null}
          labels=${labels}
          onChange=${(next) => onChange({ ...value, [member.name]: next })}
        />
        ${member.description && html`<p class="hint">${member.description}</p>`}
      </div>`;
    })}
  </div>`;
}
