import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { confirmAction, Dialog, describeError, openDialog, showError, showToast } from '../../components/feedback.js';
import { Icon } from '../../components/icons.js';
import { sendWithCode } from '../../components/second-factor.js';
import { FieldEditor } from '../editors/editor.js';
import { isEditable, toInput } from '../editors/rules.js';
import { nameOf, recordsPath } from '../schema.js';

/**
 * Changes several records, and shows how many could not be changed, with the reasons.
 *
 * @param {{ action: 'delete' | 'restore' | 'update', values?: object }} change
 * @returns {Promise<{ done: string[], failed: { id: string, error: any }[] } | undefined>} undefined if the administrator cancels
 */
async function changeAll(resource, ids, change) {
  let data;
  const isSent = await sendWithCode(async (code) => {
    const body = { ids, ...change, ...code };
    ({ data } = await call(recordsPath(resource, 'bulk'), { method: 'POST', body }));
  });
  if (!isSent) return undefined;
  const failed = data.filter(({ error }) => error !== undefined && error !== null);
  const done = data.filter((one) => !failed.includes(one)).map(({ id }) => id);
  return { done, failed };
}

const countText = (resource, count) => `${count} ${nameOf(resource, count)}`;

function showFailures(resource, failed, verb) {
  return openDialog(
    ({ close }) => html`<${Dialog}
      title=${`${countText(resource, failed.length)} could not be ${verb}`}
      onClose=${() => close()}
    >
      <ul class="failures">
        ${failed.map(({ id, error }) => html`<li key=${id}><code>${id}</code> ${describeError(error)}</li>`)}
      </ul>
      <footer><button type="button" class="primary" onClick=${() => close()}>Close</button></footer>
    <//>`,
  );
}

/** Runs a change and reports its result. @returns {Promise<boolean>} false if the administrator cancels */
async function runBulk(resource, ids, change, { verb, undo }) {
  try {
    const result = await changeAll(resource, ids, change);
    if (result === undefined) return false;
    const { done, failed } = result;
    if (done.length > 0) {
      const action = undo && { label: 'Undo', run: () => undo(done) };
      showToast(`${countText(resource, done.length)} ${verb}`, { action });
    }
    if (failed.length > 0) await showFailures(resource, failed, verb);
  } catch (error) {
    showError(error);
  }
  return true;
}

function SetFieldDialog({ resource, count, close }) {
  const fields = resource.fields.filter((field) => isEditable(field));
  const [name, setName] = useState(fields[0]?.name);
  const [value, setValue] = useState(null);
  const [error, setError] = useState(undefined);
  const field = fields.find((one) => one.name === name);
  const submit = (event) => {
    event.preventDefault();
    try {
      close({ [name]: toInput(field, value) });
    } catch (failure) {
      setError(failure.message);
    }
  };
  return html`<${Dialog} title=${`Set a field of ${countText(resource, count)}`} onClose=${() => close()}>
    <form class="stack" onSubmit=${submit}>
      <label>
        Field
        <select
          value=${name}
          onChange=${(event) => {
            setName(event.target.value);
            setValue(null);
          }}
        >
          ${fields.map((one) => html`<option key=${one.name} value=${one.name}>${one.name}</option>`)}
        </select>
      </label>
      ${
        field &&
        html`<${FieldEditor}
          key=${name}
          field=${field}
          resource=${resource}
          value=${value}
          onChange=${setValue}
          error=${error}
          labels=${{}}
        />`
      }
      <footer>
        <button type="button" onClick=${() => close()}>Cancel</button>
        <button type="submit" class="primary" disabled=${field === undefined}>Set it for ${count}</button>
      </footer>
    </form>
  <//>`;
}

/** What can be done with the selected records. */
export function BulkBar({ resource, rows, selected, onDone }) {
  const ids = [...selected];
  if (ids.length === 0) return null;
  const chosen = (rows ?? []).filter(({ id }) => selected.has(id));
  const isDeleted = ({ deletedAt }) => deletedAt !== null && deletedAt !== undefined;
  const hasDeleted = chosen.some(isDeleted);
  const isAllDeleted = hasDeleted && chosen.length === ids.length && chosen.every(isDeleted);
  const run = async (change, options) => {
    if (await runBulk(resource, ids, change, options)) onDone();
  };
  const remove = async () => {
    const undo = resource.softDelete
      ? async (done) => {
          await runBulk(resource, done, { action: 'restore' }, { verb: 'restored' });
          onDone();
        }
      : undefined;
    const question = {
      title: `Delete ${countText(resource, ids.length)}?`,
      text: resource.softDelete ? 'They can be restored later.' : 'This cannot be undone.',
      action: `Delete ${ids.length}`,
      isDangerous: true,
    };
    if (await confirmAction(question)) await run({ action: 'delete' }, { verb: 'deleted', undo });
  };
  const setField = async () => {
    const values = await openDialog(
      ({ close }) => html`<${SetFieldDialog} resource=${resource} count=${ids.length} close=${close} />`,
    );
    if (values !== undefined) await run({ action: 'update', values }, { verb: 'changed' });
  };
  return html`<div class="bulk" role="region" aria-label="Selected records">
    <b role="status">${ids.length} selected</b>
    ${!isAllDeleted && html`<button type="button" onClick=${setField}>Set a field…</button>`}
    ${
      hasDeleted &&
      html`<button type="button" onClick=${() => run({ action: 'restore' }, { verb: 'restored' })}>
        <${Icon} name="restore" />Restore
      </button>`
    }
    ${!isAllDeleted && html`<button type="button" class="danger" onClick=${remove}><${Icon} name="trash" />Delete</button>`}
    <button type="button" class="plain" onClick=${onDone}>Clear</button>
  </div>`;
}
