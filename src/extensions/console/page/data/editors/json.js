import { html } from 'htm/preact';
import { JsonText } from './rules.js';

const textOf = (value) => {
  if (value instanceof JsonText) return value.text;
  return value === null || value === undefined ? '' : JSON.stringify(value, null, 2);
};

/** The error of a text that is not valid JSON, with its position; undefined for valid and for empty texts. */
function findError(value) {
  if (!(value instanceof JsonText)) return undefined;
  try {
    value.parse();
    return undefined;
  } catch (error) {
    return error.message;
  }
}

/** JSON as text. The text is kept as it is typed, and its error is shown at once. */
export function JsonEditor({ id, value, onChange, invalid, describedBy }) {
  const text = textOf(value);
  const error = findError(value);
  const format = () => onChange(new JsonText(JSON.stringify(value.parse(), null, 2)));
  return html`<textarea
      id=${id}
      class="code-input"
      rows=${Math.min(18, Math.max(4, text.split('\n').length + 1))}
      spellcheck="false"
      value=${text}
      aria-invalid=${invalid || error !== undefined ? 'true' : undefined}
      aria-describedby=${[error && `${id}-syntax`, describedBy].filter(Boolean).join(' ') || undefined}
      onInput=${(event) => onChange(new JsonText(event.target.value))}
    ></textarea>
    ${error && html`<p class="field-error" id=${`${id}-syntax`}>${error}</p>`}
    ${value instanceof JsonText && !error && text.trim() !== '' && html`<button type="button" class="plain" onClick=${format}>Format</button>`}`;
}
