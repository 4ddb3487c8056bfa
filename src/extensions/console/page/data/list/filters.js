import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { Icon } from '../../components/icons.js';
import { Menu } from '../../components/menu.js';
import { ReferencePicker, useReferenceLabel } from '../../components/reference-picker.js';
import { place, setParams } from '../../router.js';
import { filterableColumns, filtersIn, operatorText } from './query.js';

const NUMBERS = ['integer', 'number', 'decimal'];
/** Operators whose value is a list, separated by commas. */
const LISTS = ['in', 'nin', 'all'];

/** The type of a single compared value: that of the items of a list. */
const comparedType = (field) => {
  if (field.type === 'refs') return { type: 'ref', target: field.target };
  return field.type === 'array' && field.inner ? field.inner : field;
};

/** `2030-01-31T12:00` in the time zone of the browser, for an input of dates. */
function toLocalInput(iso) {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

const fromLocalInput = (text) => (text === '' ? '' : new Date(text).toISOString());

function Choices({ id, options, value, onChange }) {
  return html`<select id=${id} value=${value} onChange=${(event) => onChange(event.target.value)}>
    <option value="">Choose…</option>
    ${options.map(([key, text]) => html`<option key=${key} value=${key}>${text}</option>`)}
  </select>`;
}

function CheckedChoices({ options, value, onChange }) {
  const chosen = value === '' ? [] : value.split(',');
  const toggle = (one) => onChange(options.filter((each) => chosen.includes(each) !== (each === one)).join(','));
  return html`<div class="checks" role="group" aria-label="Values">
    ${options.map(
      (one) => html`<label key=${one} class="check">
        <input type="checkbox" checked=${chosen.includes(one)} onClick=${() => toggle(one)} />${one}
      </label>`,
    )}
  </div>`;
}

const YES_NO = [
  ['true', 'yes'],
  ['false', 'no'],
];

/** The input for the value of a filter, by the type of the field. */
function FilterValue({ field, operator, value, onChange, label, onLabel }) {
  const id = 'filter-value';
  const { type, values, target } = comparedType(field);
  if (operator === 'exists') return html`<${Choices} id=${id} options=${YES_NO} value=${value} onChange=${onChange} />`;
  if (type === 'boolean') return html`<${Choices} id=${id} options=${YES_NO} value=${value} onChange=${onChange} />`;
  if (values && LISTS.includes(operator))
    return html`<${CheckedChoices} options=${values} value=${value} onChange=${onChange} />`;
  if (values)
    return html`<${Choices} id=${id} options=${values.map((one) => [one, one])} value=${value} onChange=${onChange} />`;
  if (LISTS.includes(operator))
    return html`<input
      id=${id}
      value=${value}
      placeholder="Values, separated by commas"
      onInput=${(event) => onChange(event.target.value)}
    />`;
  if (type === 'ref')
    return html`<${ReferencePicker}
      id=${id}
      resource=${target}
      value=${value === '' ? null : value}
      label=${label}
      onChange=${(chosen, chosenLabel) => {
        onLabel(chosenLabel);
        onChange(chosen);
      }}
    />`;
  if (type === 'date')
    return html`<input
      id=${id}
      type="datetime-local"
      value=${toLocalInput(value)}
      onInput=${(event) => onChange(fromLocalInput(event.target.value))}
    />`;
  return html`<input
    id=${id}
    value=${value}
    inputmode=${NUMBERS.includes(type) ? 'decimal' : undefined}
    onInput=${(event) => onChange(event.target.value)}
  />`;
}

/** The form of one filter. `initial`: the filter to change; undefined for a new one. */
function FilterForm({ resource, initial, initialLabel, onDone }) {
  const columns = filterableColumns(resource);
  const [name, setName] = useState(initial?.name ?? columns[0]?.name);
  const field = columns.find((one) => one.name === name) ?? columns[0];
  const [operator, setOperator] = useState(initial?.operator ?? field?.operators[0]);
  const [value, setValue] = useState(initial?.value ?? '');
  const [label, setLabel] = useState(initialLabel);
  if (field === undefined) return html`<p class="soft">No field of this resource can be compared.</p>`;
  const chooseField = (next) => {
    const { operators } = columns.find((one) => one.name === next);
    setName(next);
    setOperator(operators.includes('eq') ? 'eq' : operators[0]);
    setValue('');
  };
  const chooseOperator = (next) => {
    if (next === 'exists' || operator === 'exists') setValue(next === 'exists' ? 'true' : '');
    setOperator(next);
  };
  const apply = (event) => {
    event.preventDefault();
    const previous = initial === undefined ? {} : { [initial.key]: undefined };
    // An empty text is a value that texts can be compared with, but it would disappear from the address.
    const text = value === '' && operator === 'eq' ? undefined : value;
    setParams({ ...previous, [`${name}[${operator}]`]: text, after: undefined });
    onDone();
  };
  return html`<form class="filter-form" onSubmit=${apply}>
    <label>
      Field
      <select value=${name} onChange=${(event) => chooseField(event.target.value)}>
        ${columns.map((one) => html`<option key=${one.name} value=${one.name}>${one.name}</option>`)}
      </select>
    </label>
    <label>
      Comparison
      <select value=${operator} onChange=${(event) => chooseOperator(event.target.value)}>
        ${field.operators.map((one) => html`<option key=${one} value=${one}>${operatorText(field, one)}</option>`)}
      </select>
    </label>
    <div class="field">
      <label for="filter-value">Value</label>
      <${FilterValue}
        key=${`${name} ${operator}`}
        field=${field}
        operator=${operator}
        value=${value}
        onChange=${setValue}
        label=${label}
        onLabel=${setLabel}
      />
    </div>
    <footer>
      <button type="submit" class="primary" disabled=${value === ''}>Apply</button>
    </footer>
  </form>`;
}

/** A compared value, for people. */
function valueText(type, value, label) {
  if (type === 'ref') return label;
  const date = type === 'date' ? new Date(value) : undefined;
  return date === undefined || Number.isNaN(date.getTime()) ? value : date.toLocaleString();
}

/** A filter in use, which can be changed and removed. */
function FilterChip({ resource, filter }) {
  const { key, name, operator, value } = filter;
  const field = filterableColumns(resource).find((one) => one.name === name);
  const { type, target } = field === undefined ? {} : comparedType(field);
  const isOne = type === 'ref' && !LISTS.includes(operator) && operator !== 'exists';
  const label = useReferenceLabel(isOne ? target : undefined, value);
  const text =
    operator === 'exists'
      ? `${name} has ${value === 'true' ? 'a' : 'no'} value`
      : `${name} ${operatorText(field, operator)} ${valueText(type, value, label)}`;
  return html`<span class="filter-chip">
    <${Menu} label=${text}>
      ${(close) => html`<${FilterForm} resource=${resource} initial=${filter} initialLabel=${label} onDone=${close} />`}
    <//>
    <button
      type="button"
      aria-label=${`Remove the filter ${text}`}
      onClick=${() => setParams({ [key]: undefined, after: undefined })}
    >
      <${Icon} name="close" size=${12} />
    </button>
  </span>`;
}

/** The button that adds a filter. */
export function FilterMenu({ resource }) {
  const count = filtersIn(place.value.params).length;
  return html`<${Menu} label="Filter" icon="filter" badge=${count}>
    ${(close) => html`<${FilterForm} resource=${resource} onDone=${close} />`}
  <//>`;
}

/** The filters in use. */
export function FilterChips({ resource }) {
  const { params } = place.value;
  const filters = filtersIn(params);
  const deleted = params.get('deleted');
  if (filters.length === 0 && deleted === null) return null;
  const clear = () =>
    setParams(
      Object.fromEntries([...filters.map(({ key }) => [key, undefined]), ['deleted', undefined], ['after', undefined]]),
    );
  return html`<div class="chips" role="group" aria-label="Filters in use">
    ${filters.map((filter) => html`<${FilterChip} key=${filter.key} resource=${resource} filter=${filter} />`)}
    ${
      deleted !== null &&
      html`<span class="filter-chip"
        ><span class="text">${deleted === 'only' ? 'only deleted records' : 'with deleted records'}</span>
        <button
          type="button"
          aria-label="Hide deleted records"
          onClick=${() => setParams({ deleted: undefined, after: undefined })}
        >
          <${Icon} name="close" size=${12} />
        </button>
      </span>`
    }
    <button type="button" class="plain" onClick=${clear}>Clear</button>
  </div>`;
}
