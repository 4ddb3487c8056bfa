import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { isSafeLink } from '../format.js';

/** A text of this length or more gets a field of several lines. */
const LONG_TEXT = 80;
const INPUT_TYPES = { email: 'email', url: 'url' };

const aria = ({ invalid, describedBy }) => ({
  'aria-invalid': invalid ? 'true' : undefined,
  'aria-describedby': describedBy,
});

/** Texts, e-mail addresses and URLs. */
export function TextEditor(props) {
  const { id, field, value, onChange } = props;
  const text = typeof value === 'string' ? value : value === null || value === undefined ? '' : String(value);
  // Decided once: the control must not be replaced while the user types.
  const [isLong] = useState(field.type === 'text' || text.length > LONG_TEXT || text.includes('\n'));
  const handle = (event) => onChange(event.target.value);
  if (isLong)
    return html`<textarea id=${id} rows=${Math.min(14, Math.max(3, text.split('\n').length + 1))} value=${text} onInput=${handle} ...${aria(props)}></textarea>`;
  return html`<input
      id=${id}
      type="text"
      inputmode=${INPUT_TYPES[field.type]}
      spellcheck=${field.type === 'string' ? undefined : 'false'}
      autocomplete="off"
      value=${text}
      onInput=${handle}
      ...${aria(props)}
    />
    ${
      field.type === 'url' &&
      isSafeLink(text) &&
      html`<p class="hint"><a href=${text} target="_blank" rel="noopener noreferrer">Open the address</a></p>`
    }`;
}

/** Numbers. The text is kept while it is typed: `1.` is not a number yet, and a decimal may have more digits than a number. */
export function NumberEditor(props) {
  const { id, field, value, onChange } = props;
  return html`<input
    id=${id}
    class="number"
    inputmode=${field.type === 'integer' ? 'numeric' : 'decimal'}
    autocomplete="off"
    value=${value ?? ''}
    onInput=${(event) => onChange(event.target.value.trim() === '' ? null : event.target.value)}
    ...${aria(props)}
  />`;
}

/** The option for no value. A new record then gets the default, if the field has one. */
function EmptyOption({ field, isNew, textOf = String }) {
  const hasDefault = isNew && field.default !== undefined && field.default !== null;
  return html`<option value="">${hasDefault ? `${textOf(field.default)} (default)` : 'No value'}</option>`;
}

const yesOrNo = (value) => (value ? 'Yes' : 'No');

/** Yes or no; with a third state if the field may have no value. */
export function BooleanEditor(props) {
  const { id, field, value, onChange, isNew } = props;
  const states = { true: true, false: false, '': null };
  return html`<select id=${id} value=${String(value ?? '')} onChange=${(event) => onChange(states[event.target.value])} ...${aria(props)}>
    ${(!field.required || value === null || value === undefined) && html`<${EmptyOption} field=${field} isNew=${isNew} textOf=${yesOrNo} />`}
    <option value="true">Yes</option>
    <option value="false">No</option>
  </select>`;
}

/** One of the declared values. A stored value that is no longer declared stays visible. */
export function EnumEditor(props) {
  const { id, field, value, onChange, isNew } = props;
  const values = field.values ?? [];
  const options = value === null || value === undefined || values.includes(value) ? values : [...values, value];
  return html`<select id=${id} value=${value ?? ''} onChange=${(event) => onChange(event.target.value === '' ? null : event.target.value)} ...${aria(props)}>
    ${(!field.required || value === null || value === undefined) && html`<${EmptyOption} field=${field} isNew=${isNew} />`}
    ${options.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
  </select>`;
}

/** `2030-01-31T12:00:00.000` in the time zone of the browser. */
function toLocalInput(value) {
  const date = new Date(value);
  if (value === null || value === undefined || Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, -1);
}

/** A time, in the time zone of the browser. What is stored and sent is shown below it. */
export function DateEditor(props) {
  const { id, value, onChange } = props;
  const handle = ({ target }) => onChange(target.value === '' ? null : new Date(target.value).toISOString());
  return html`<div class="date-row">
    <input id=${id} type="datetime-local" step="0.001" value=${toLocalInput(value)} onChange=${handle} ...${aria(props)} />
    <button type="button" onClick=${() => onChange(new Date().toISOString())}>Now</button>
    ${value && html`<code class="soft">${String(value)}</code>`}
  </div>`;
}
