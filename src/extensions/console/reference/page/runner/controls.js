import { html } from 'belfry/console';
import { typeText } from '../api/example.js';
import { controlOf, offersNull } from './request.js';

function Choice({ values, isRequired, ...attributes }) {
  return html`<select ...${attributes}>
    <option value="">${isRequired ? 'Choose…' : 'not set'}</option>
    ${values.map((value) => html`<option key=${String(value)} value=${String(value)}>${String(value)}</option>`)}
  </select>`;
}

function FileInput({ isList, onChange, ...attributes }) {
  const choose = ({ target: { files } }) => onChange(isList ? [...files] : files[0]);
  return html`<input type="file" multiple=${isList} ...${attributes} onChange=${choose} />`;
}

/** The control for a value, by its schema. The value is a text, or a file. */
function Input({ kind, part, value, onChange, ...attributes }) {
  const { schema } = part;
  const onInput = (event) => onChange(event.target.value);
  if (kind === 'choice' || kind === 'boolean') {
    const declared = kind === 'boolean' ? ['true', 'false'] : schema.enum;
    const values = offersNull(part) ? [...declared, 'null'] : declared;
    return html`<${Choice} values=${values} isRequired=${part.required} value=${value ?? ''} onChange=${onInput} ...${attributes} />`;
  }
  if (kind === 'file')
    return html`<${FileInput} isList=${schema.type === 'array'} onChange=${onChange} ...${attributes} />`;
  if (kind === 'json')
    return html`<textarea
      rows=${Math.min(8, Math.max(2, (value ?? '').split('\n').length))}
      class="reference-code"
      placeholder=${schema.type === 'array' ? '[ ]' : '{ }'}
      spellcheck="false"
      value=${value ?? ''}
      onInput=${onInput}
      ...${attributes}
    />`;
  return html`<input
    type=${kind === 'password' ? 'password' : 'text'}
    inputmode=${kind === 'number' ? 'decimal' : undefined}
    autocomplete="off"
    spellcheck="false"
    placeholder=${schema.default === undefined ? undefined : String(schema.default)}
    value=${value ?? ''}
    onInput=${onInput}
    ...${attributes}
  />`;
}

/**
 * A labelled control for a parameter or a member of the body.
 *
 * @param {{ id: string, part: { name: string, schema: object, alternatives: object[], required: boolean, description?: string },
 *   value: any, onChange: (value: any) => void, error?: string, action?: any }} props `action`: a button beside the label
 */
export function Control({ id, part, value, onChange, error, action }) {
  const kind = controlOf(part);
  const describedBy = error === undefined ? undefined : `${id}-error`;
  return html`<div class="reference-control">
    <div class="reference-label">
      <label for=${id}><code>${part.name}</code></label>
      ${part.required && html`<span class="reference-required" aria-hidden="true">required</span>`}
      <span class="reference-type" aria-hidden="true">${typeText(part.schema, part.alternatives)}</span>
      ${action}
    </div>
    <${Input}
      id=${id}
      kind=${kind}
      part=${part}
      value=${value}
      onChange=${onChange}
      aria-required=${part.required ? 'true' : undefined}
      aria-invalid=${error === undefined ? undefined : 'true'}
      aria-describedby=${describedBy}
      title=${part.description ?? part.schema.description}
    />
    ${error !== undefined && html`<p id=${describedBy} class="field-error">${error}</p>`}
  </div>`;
}
