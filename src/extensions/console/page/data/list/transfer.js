import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { call, download } from '../../api.js';
import { Dialog, openDialog, showError, showToast } from '../../components/feedback.js';
import { hrefOf, place } from '../../router.js';
import { nameOf, recordsPath } from '../schema.js';
import { requestParams } from './query.js';

const MAX_SHOWN_ERRORS = 50;

/**
 * Saves the records of the current filters as a file.
 *
 * @param {'csv' | 'ndjson'} format
 * @param {{ isExact?: boolean }} [options] `isExact`: texts of a CSV file that a spreadsheet would calculate as formulas stay as they are
 */
export async function exportRecords(resource, format, { isExact = false } = {}) {
  const params = requestParams(place.value.params);
  for (const name of ['after', 'limit']) params.delete(name);
  params.set('format', format);
  if (isExact) params.set('forSpreadsheet', 'false');
  try {
    const blob = await download(hrefOf(recordsPath(resource, 'export'), params));
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = `${resource.name}.${format}`;
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (error) {
    showError(error);
  }
}

/** Sends a file. @param {'check' | 'write'} mode `check` changes nothing */
async function sendFile(resource, { file, format, existing }, mode) {
  const params = new URLSearchParams({ format, mode, ...existing });
  const headers = { 'Content-Type': format === 'csv' ? 'text/csv' : 'application/x-ndjson' };
  return (await call(hrefOf(recordsPath(resource, 'import'), params), { method: 'POST', body: file, headers })).data;
}

function ImportResult({ result, isChecked }) {
  const { written, rejected, errors, warnings } = result;
  const verb = isChecked ? 'would be written' : 'were written';
  const shown = errors.slice(0, MAX_SHOWN_ERRORS);
  return html`<p role="status">
      <b>${written.toLocaleString()}</b> ${verb},${' '}
      <b class=${rejected > 0 ? 'bad-text' : ''}>${rejected.toLocaleString()}</b> rejected.
    </p>
    ${isChecked && warnings.map((text) => html`<p key=${text} class="soft">${text}.</p>`)}
    ${
      shown.length > 0 &&
      html`<div class="table-box" tabindex="0" role="region" aria-label="Rejected rows">
          <table class="plain-table">
            <thead><tr><th scope="col">Row</th><th scope="col">Error</th></tr></thead>
            <tbody>
              ${shown.map(
                (one) => html`<tr key=${one.row}>
                  <td>${one.row}</td>
                  <td>${Object.entries(one.errors).map(([name, text]) => html`<p key=${name}>${name}: ${text}</p>`)}</td>
                </tr>`,
              )}
            </tbody>
          </table>
        </div>
        ${rejected > shown.length && html`<p class="soft">The first ${shown.length} are shown.</p>`}`
    }`;
}

/** The choice that gives all records new ids. Not the name of a field. */
const NEW_IDS = '*';

/** The parameters of an import for a choice: how rows relate to existing records. */
function existingRecords(choice) {
  if (choice === NEW_IDS) return {};
  return choice === '' ? { keepIds: 'true' } : { upsertBy: choice };
}

/** The steps of an import: choose a file, check it, write it. */
function ImportDialog({ resource, close }) {
  const [file, setFile] = useState(undefined);
  const [existing, setExisting] = useState({});
  const [checked, setChecked] = useState(undefined);
  const [error, setError] = useState(undefined);
  const [isBusy, setBusy] = useState(false);
  const format = /\.(?:ndjson|jsonl|json)$/i.test(file?.name ?? '') ? 'ndjson' : 'csv';
  const unique = resource.fields
    .filter((field) => field.unique && !field.writeOnly && !field.encrypted)
    .map(({ name }) => name);
  const run = async (mode) => {
    setBusy(true);
    setError(undefined);
    try {
      const result = await sendFile(resource, { file, format, existing }, mode);
      if (mode === 'check') setChecked(result);
      else close(result);
    } catch (failure) {
      setError([failure.message, ...Object.values(failure.details)].join(' · '));
    }
    setBusy(false);
  };
  const change = (apply) => (event) => {
    setChecked(undefined);
    apply(event);
  };
  return html`<${Dialog} title=${`Import ${nameOf(resource, 2)}`} onClose=${() => close(undefined)} wide=${true}>
    <p>A CSV file whose first row names the fields, or NDJSON: one JSON object on each line.</p>
    <div class="stack">
      <label>
        File
        <input type="file" accept=".csv,.tsv,.txt,.ndjson,.jsonl,.json" onChange=${change((event) => setFile(event.target.files[0]))} />
      </label>
      <label>
        Existing records
        <select
          value=${existing.keepIds ? '' : (existing.upsertBy ?? NEW_IDS)}
          onChange=${change(({ target: { value } }) => setExisting(existingRecords(value)))}
        >
          <option value=${NEW_IDS}>Create all as new records</option>
          <option value="">Create all with the ids and times in the file</option>
          ${unique.map((name) => html`<option key=${name} value=${name}>Update those with the same ${name}</option>`)}
        </select>
      </label>
      ${error && html`<p class="form-error" role="alert">${error}</p>`}
      ${checked && html`<${ImportResult} result=${checked} isChecked=${true} />`}
    </div>
    <footer>
      <button type="button" onClick=${() => close(undefined)}>Cancel</button>
      <button type="button" class=${checked ? '' : 'primary'} disabled=${file === undefined || isBusy} onClick=${() => run('check')}>Check</button>
      ${
        checked &&
        html`<button type="button" class="primary" disabled=${isBusy || checked.written === 0} onClick=${() => run('write')}>
          ${checked.rejected > 0 ? 'Import the valid rows' : 'Import'}
        </button>`
      }
    </footer>
  <//>`;
}

/** Imports a file, after a check that changes nothing. `onDone` reads the list again. */
export async function importRecords(resource, onDone) {
  const result = await openDialog(({ close }) => html`<${ImportDialog} resource=${resource} close=${close} />`);
  if (result === undefined) return;
  await onDone();
  if (result.rejected === 0) {
    showToast(`Imported ${result.written.toLocaleString()} ${nameOf(resource, result.written)}`);
    return;
  }
  await openDialog(
    ({ close }) => html`<${Dialog} title="Imported" onClose=${() => close()} wide=${true}>
      <${ImportResult} result=${result} isChecked=${false} />
      <footer><button type="button" class="primary" onClick=${() => close()}>Close</button></footer>
    <//>`,
  );
}
