import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { showError } from '../../components/feedback.js';
import { Icon } from '../../components/icons.js';
import { recordsPath } from '../schema.js';

/** Reads the value of an encrypted field. The server records it in the audit trail. @throws RequestError */
async function reveal(resource, record, field) {
  const { data } = await call(recordsPath(resource, record.id, 'reveal'), {
    method: 'POST',
    body: { field: field.name },
  });
  return typeof data === 'object' && data !== null && Object.hasOwn(data, 'value') ? data.value : data;
}

/**
 * A value that the server does not return: whether it is set, a new value, and for encrypted fields the stored one on request. A draft of
 * `undefined` keeps the stored value.
 */
export function SecretEditor({
  id,
  field,
  resource,
  record,
  value,
  saved,
  onChange,
  invalid,
  describedBy,
  isNew,
  Inner,
}) {
  const [revealed, setRevealed] = useState(undefined);
  const [isReplacing, setReplacing] = useState(isNew === true);
  const isSet = saved?.isSet === true;
  const show = async () => {
    try {
      setRevealed({ value: await reveal(resource, record, field) });
    } catch (error) {
      showError(error);
    }
  };
  if (!isReplacing)
    return html`<div class="secret-row">
      <span class="soft">${revealed === undefined ? (isSet ? '••••••••' : 'Not set') : html`<code>${typeof revealed.value === 'string' ? revealed.value : JSON.stringify(revealed.value)}</code>`}</span>
      ${field.encrypted && !field.writeOnly && isSet && revealed === undefined && html`<button type="button" onClick=${show}><${Icon} name="eye" />Reveal</button>`}
      ${revealed !== undefined && html`<button type="button" onClick=${() => setRevealed(undefined)}>Hide</button>`}
      <button type="button" id=${id} onClick=${() => setReplacing(true)}><${Icon} name="key" />${isSet ? 'Replace' : 'Set'}</button>
    </div>`;
  const plain = { ...field, encrypted: false, writeOnly: false };
  const keep = () => {
    setReplacing(false);
    onChange(undefined);
  };
  return html`${
    field.type === 'password'
      ? html`<input
          id=${id}
          type="password"
          autocomplete="new-password"
          value=${value ?? ''}
          aria-invalid=${invalid ? 'true' : undefined}
          aria-describedby=${describedBy}
          onInput=${(event) => onChange(event.target.value === '' ? undefined : event.target.value)}
        />`
      : html`<${Inner} id=${id} field=${plain} resource=${resource} value=${value ?? null} onChange=${onChange} invalid=${invalid} describedBy=${describedBy} labels=${{}} />`
  }
  ${!isNew && html`<button type="button" class="plain" onClick=${keep}>Keep the stored value</button>`}`;
}
