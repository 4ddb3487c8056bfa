import { Dialog, openDialog } from '../../../../kit/dialog.tsx';
import { locale } from '../../../../kit/language.ts';
import { texts as kitTexts } from '../../../../kit/texts.ts';
import { showToast } from '../../../../kit/toasts.tsx';
import { texts } from '../../../texts.ts';
import type { ResourceInfo } from '../../app-info.ts';
import { countText, nameOf } from '../../schema.ts';
import { ColumnChoices, Preview, ReadChoices } from './columns.tsx';
import { ImportReport } from './report.tsx';
import { NEW_IDS, type Outcome, SAME_IDS, useImport } from './use-import.ts';

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
        {texts.imports.file}
        <input
          type="file"
          accept=".csv,.tsv,.txt,.ndjson,.jsonl,.json"
          onChange={(event) => onFile(event.currentTarget.files?.[0])}
        />
      </label>
      <label>
        {texts.imports.existing}
        <select value={existing} onChange={(event) => onExisting(event.currentTarget.value)}>
          <option value={NEW_IDS}>{texts.imports.createNew}</option>
          <option value={SAME_IDS}>{texts.imports.keepIds}</option>
          {unique.map(({ name, label }) => (
            <option key={name} value={name}>
              {texts.imports.updateBy(label)}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

/** How far a check or an import is. */
function Progress({ done, total }: { done: number; total: number | undefined }) {
  return (
    <div class="import-progress">
      <progress aria-label={texts.imports.progress} {...(total !== undefined && { value: done, max: total })} />
      {total !== undefined && (
        <span class="soft">{texts.imports.rowsDone(done.toLocaleString(locale), total.toLocaleString(locale))}</span>
      )}
    </div>
  );
}

/** The buttons: to stop or cancel, to check, to write. */
function Actions({ state, onCancel }: { state: ReturnType<typeof useImport>; onCancel: () => void }) {
  const { source, checked, done, problem, isReady, run } = state;
  const isBusy = done !== undefined;
  return (
    <footer>
      <button
        type="button"
        disabled={isBusy && source === undefined}
        onClick={() => (isBusy ? state.stop() : onCancel())}
      >
        {isBusy && source ? texts.imports.stop : kitTexts.cancel}
      </button>
      <button
        type="button"
        class={checked ? '' : 'primary'}
        disabled={!isReady || problem !== undefined}
        onClick={() => run('check')}
      >
        {texts.imports.check}
      </button>
      {checked && (
        <button type="button" class="primary" disabled={isBusy || checked.written === 0} onClick={() => run('write')}>
          {checked.rejected > 0 ? texts.imports.importValid : texts.imports.import}
        </button>
      )}
    </footer>
  );
}

/** The steps of an import: choose a file and its columns, check it, write it. */
function ImportDialog({
  resource,
  close,
}: {
  resource: ResourceInfo;
  /** Gets the result; undefined if the administrator cancels. */
  close: (outcome: Outcome | undefined) => void;
}) {
  const state = useImport(resource, close);
  const { file, source, mapping, checked, done, error, problem, isReading } = state;
  const isBusy = done !== undefined;
  // A file that has no columns in one way can be read in another.
  const { encoding, delimiter } = state.refusedChoice ?? {};
  const read = source ?? (encoding && delimiter && { encoding, delimiter });
  return (
    <Dialog title={texts.imports.title(nameOf(resource, 2))} onClose={() => !isBusy && close(undefined)} wide={true}>
      <p>{texts.imports.intro}</p>
      <div class="stack">
        <fieldset class="stack import-form" disabled={isBusy}>
          <ImportForm
            resource={resource}
            existing={state.existing}
            onFile={state.read}
            onExisting={state.setExisting}
          />
          {isReading && <p role="status">{texts.imports.reading}</p>}
          {read && <ReadChoices source={read} onChange={(choice) => state.read(file, choice)} />}
          {source && (
            <>
              <ColumnChoices
                resource={resource}
                source={source}
                mapping={mapping}
                targets={state.targets}
                onChange={state.chooseField}
              />
              <Preview resource={resource} source={source} mapping={mapping} refused={checked?.refused ?? []} />
            </>
          )}
        </fieldset>
        {(error ?? problem) && (
          <p class="form-error" role="alert">
            {error ?? problem}
          </p>
        )}
        {done !== undefined && <Progress done={done} total={source?.rows.length} />}
        {checked && <ImportReport outcome={checked} isChecked={true} />}
      </div>
      <Actions state={state} onCancel={() => close(undefined)} />
    </Dialog>
  );
}

/** Imports a file, after a check that changes nothing. `onDone` reads the list again. */
export async function importRecords(resource: ResourceInfo, onDone: () => Promise<void>): Promise<void> {
  const outcome = await openDialog<Outcome | undefined>(({ close }) => (
    <ImportDialog resource={resource} close={close} />
  ));
  if (outcome === undefined) return;
  await onDone();
  if (outcome.rejected === 0 && outcome.stopped === undefined) {
    showToast(texts.imports.importedAll(countText(resource, outcome.written)));
    return;
  }
  await openDialog<void>(({ close }) => (
    <Dialog title={texts.imports.imported} onClose={close} wide={true}>
      <ImportReport outcome={outcome} isChecked={false} />
      <footer>
        <button type="button" class="primary" onClick={() => close()}>
          {kitTexts.close}
        </button>
      </footer>
    </Dialog>
  ));
}
