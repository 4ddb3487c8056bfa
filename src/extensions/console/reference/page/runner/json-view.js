import { html } from 'belfry/console';
import { useState } from 'preact/hooks';

const MAX_ITEMS = 100;
const MAX_TEXT = 2000;
/** Objects and lists down to this depth are open at first. */
const OPEN_DEPTH = 3;

function Scalar({ value }) {
  if (value === null) return html`<span class="reference-json-null">null</span>`;
  if (typeof value !== 'string') return html`<span class="reference-json-other">${String(value)}</span>`;
  const isLong = value.length > MAX_TEXT;
  return html`<span class="reference-json-text">"${isLong ? `${value.slice(0, MAX_TEXT)}…` : value}"</span>`;
}

const Key = ({ name }) => name !== undefined && html`<span class="reference-json-key">${name}</span>${': '}`;

/** A value of JSON. Objects and lists can be folded; their content is rendered only while they are open. */
export function JsonView({ value, name, depth = 0 }) {
  const isList = Array.isArray(value);
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : undefined;
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH && (entries?.length ?? 0) <= MAX_ITEMS);
  const [shown, setShown] = useState(MAX_ITEMS);
  if (entries === undefined)
    return html`<div class="reference-json-line"><${Key} name=${name} /><${Scalar} value=${value} /></div>`;
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (entries.length === 0) return html`<div class="reference-json-line"><${Key} name=${name} />${open}${close}</div>`;
  const count = isList ? `${entries.length} items` : `${entries.length} members`;
  return html`<details class="reference-json" open=${isOpen} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary><${Key} name=${name} />${open}${!isOpen && html`<span class="soft"> ${count} </span>${close}`}</summary>
    ${
      isOpen &&
      html`<div class="reference-json-inner">
          ${entries
            .slice(0, shown)
            .map(
              ([key, item]) =>
                html`<${JsonView} key=${key} value=${item} name=${isList ? undefined : key} depth=${depth + 1} />`,
            )}
          ${
            entries.length > shown &&
            html`<button type="button" class="plain" onClick=${() => setShown(shown + MAX_ITEMS)}>Show ${Math.min(MAX_ITEMS, entries.length - shown)} more</button>`
          }
        </div>
        ${close}`
    }
  </details>`;
}
