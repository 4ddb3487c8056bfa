import { useState } from 'preact/hooks';
import { Dialog, openDialog } from '../../../kit/dialog.tsx';
import { showToast } from '../../../kit/toasts.tsx';
import { call } from '../../api.ts';
import { hrefOf } from '../../router.ts';
import type { ResourceInfo } from '../app-info.ts';
import { detailedMessage } from '../editors/values.ts';
import { nameOf, recordsPath } from '../schema.ts';

const MAX_SHOWN_ERRORS = 50;
/** The choice that gives all records new ids. Not the name of a field. */
const NEW_IDS = '*';
/** The choice that keeps ids and times. */
const SAME_IDS = '';

interface ImportResult {
  /** In a check: the rows that would be written. */
  written: number;
  rejected: number;
  /** The first rejected rows, with an error for each field. */
  errors: readonly { row: number; errors: Readonly<Record<string, string>> }[];
  /** What the file contains that the import does not use as the administrator may expect. */
  warnings: readonly string[];
}

const formatOf = ({ name }: File) => (/\.(?:ndjson|jsonl|json)$/i.test(name) ? 'ndjson' : 'csv');

/** The parameters of an import for a choice: how rows relate to existing records. */
function existingRecords(choice: string): Record<string, string> {
  if (choice === NEW_IDS) return {};
  return choice === SAME_IDS ? { keepIds: 'true' } : { upsertBy: choice };
}

interface FileChoice {
  file: File;
  /** How rows relate to existing records: `NEW_IDS`, `SAME_IDS`, or the unique field by which they are found. */
  existing: string;
}

/** Sends a file. A `check` changes nothing. @throws RequestError */
async function sendFile(
  resource: ResourceInfo,
  { file, existing }: FileChoice,
  mode: 'check' | 'write',
): Promise<ImportResult> {
  const format = formatOf(file);
  const params = new URLSearchParams({ format, mode, ...existingRecords(existing) });
  const headers = { 'Content-Type': format === 'csv' ? 'text/csv' : 'application/x-ndjson' };
  const path = hrefOf(recordsPath(resource, 'import'), params);
  return (await call<ImportResult>(path, { method: 'POST', body: file, headers })).data;
}

/** The rows that were rejected, and why. */
function RejectedRows({ rows }: { rows: ImportResult['errors'] }) {
  return (
    <div class="table-box" tabindex={0} role="region" aria-label="Rejected rows">
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">Row</th>
            <th scope="col">Error</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => (
            <tr key={one.row}>
              <td>{one.row}</td>
              <td>
                {Object.entries(one.errors).map(([name, text]) => (
                  <p key={name}>
                    {name}: {text}
                  </p>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What an import has done, or would do. */
function ImportReport({ result, isChecked }: { result: ImportResult; isChecked: boolean }) {
  const { written, rejected, errors, warnings } = result;
  const verb = isChecked ? 'would be written' : written === 1 ? 'was written' : 'were written';
  const shown = errors.slice(0, MAX_SHOWN_ERRORS);
  return (
    <>
      <p role="status">
        <b>{written.toLocaleString()}</b> {verb},{' '}
        <b class={rejected > 0 ? 'bad-text' : ''}>{rejected.toLocaleString()}</b> rejected.
      </p>
      {isChecked &&
        warnings.map((text) => (
          <p key={text} class="soft">
            {text}.
          </p>
        ))}
      {shown.length > 0 && (
        <>
          <RejectedRows rows={shown} />
          {rejected > shown.length && <p class="soft">The first {shown.length} are shown.</p>}
        </>
      )}
    </>
  );
}

/** The file, and how its rows relate to existing records. */
function ImportForm({
  resource,
  existing,
  onFile,
  onExisting,
}: {
  resource: ResourceInfo;
  existing: string;
  onFile: (file: File | undefined) => void;
  onExisting: (choice: string) => void;
}) {
  const unique = resource.fields.filter((field) => field.unique && !field.writeOnly && !field.encrypted);
  return (
    <>
      <label>
        File
        <input
          type="file"
          accept=".csv,.tsv,.txt,.ndjson,.jsonl,.json"
          onChange={(event) => onFile(event.currentTarget.files?.[0])}
        />
      </label>
      <label>
        Existing records
        <select value={existing} onChange={(event) => onExisting(event.currentTarget.value)}>
          <option value={NEW_IDS}>Create all as new records</option>
          <option value={SAME_IDS}>Create all with the ids and times in the file</option>
          {unique.map(({ name }) => (
            <option key={name} value={name}>
              Update those with the same {name}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

/** The state of an import. `onDone` gets the result once the rows are written. */
function useImport(resource: ResourceInfo, onDone: (result: ImportResult) => void) {
  const [file, setFile] = useState<File | undefined>(undefined);
  const [existing, setExisting] = useState(NEW_IDS);
  const [checked, setChecked] = useState<ImportResult | undefined>(undefined);
  const [error, setError] = useState<string | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const run = async (mode: 'check' | 'write') => {
    if (file === undefined) return;
    setBusy(true);
    setError(undefined);
    try {
      const result = await sendFile(resource, { file, existing }, mode);
      if (mode === 'check') setChecked(result);
      else onDone(result);
    } catch (failure) {
      setError(detailedMessage(failure));
    }
    setBusy(false);
  };
  /** A check is about the former file and choice. */
  const change =
    <T,>(apply: (choice: T) => void) =>
    (choice: T) => {
      setChecked(undefined);
      apply(choice);
    };
  return {
    file,
    existing,
    checked,
    error,
    isBusy,
    run,
    chooseFile: change(setFile),
    chooseExisting: change(setExisting),
  };
}

/** The steps of an import: choose a file, check it, write it. */
function ImportDialog({
  resource,
  close,
}: {
  resource: ResourceInfo;
  /** Gets the result; undefined if the administrator cancels. */
  close: (result: ImportResult | undefined) => void;
}) {
  const { file, existing, checked, error, isBusy, run, chooseFile, chooseExisting } = useImport(resource, close);
  return (
    <Dialog title={`Import ${nameOf(resource, 2)}`} onClose={() => close(undefined)} wide={true}>
      <p>A CSV file whose first row names the fields, or NDJSON: one JSON object on each line.</p>
      <div class="stack">
        <ImportForm resource={resource} existing={existing} onFile={chooseFile} onExisting={chooseExisting} />
        {error && (
          <p class="form-error" role="alert">
            {error}
          </p>
        )}
        {checked && <ImportReport result={checked} isChecked={true} />}
      </div>
      <footer>
        <button type="button" onClick={() => close(undefined)}>
          Cancel
        </button>
        <button
          type="button"
          class={checked ? '' : 'primary'}
          disabled={file === undefined || isBusy}
          onClick={() => run('check')}
        >
          Check
        </button>
        {checked && (
          <button type="button" class="primary" disabled={isBusy || checked.written === 0} onClick={() => run('write')}>
            {checked.rejected > 0 ? 'Import the valid rows' : 'Import'}
          </button>
        )}
      </footer>
    </Dialog>
  );
}

/** Imports a file, after a check that changes nothing. `onDone` reads the list again. */
export async function importRecords(resource: ResourceInfo, onDone: () => Promise<void>): Promise<void> {
  const result = await openDialog<ImportResult | undefined>(({ close }) => (
    <ImportDialog resource={resource} close={close} />
  ));
  if (result === undefined) return;
  await onDone();
  if (result.rejected === 0) {
    showToast(`Imported ${result.written.toLocaleString()} ${nameOf(resource, result.written)}`);
    return;
  }
  await openDialog<void>(({ close }) => (
    <Dialog title="Imported" onClose={close} wide={true}>
      <ImportReport result={result} isChecked={false} />
      <footer>
        <button type="button" class="primary" onClick={() => close()}>
          Close
        </button>
      </footer>
    </Dialog>
  ));
}
