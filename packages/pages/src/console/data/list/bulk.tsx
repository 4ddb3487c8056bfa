import { confirmAction, Dialog, openDialog } from '../../../kit/dialog.tsx';
import { Icon } from '../../../kit/icons.tsx';
import { RequestError } from '../../../kit/request.ts';
import { texts as kitTexts } from '../../../kit/texts.ts';
import { describeError, showError, showToast } from '../../../kit/toasts.tsx';
import { call } from '../../api.ts';
import { sendWithCode } from '../../components/second-factor.tsx';
import { texts } from '../../texts.ts';
import type { ResourceInfo, StoredRecord } from '../app-info.ts';
import { countText, fieldValue, recordsPath } from '../schema.ts';
import { SetFieldDialog } from './set-field-dialog.tsx';

type Action = Change['action'];

type Change = { action: 'delete' | 'restore' } | { action: 'update'; values: Record<string, unknown> };

/** What the server says about each record: an error, if it could not be changed. */
interface BulkResult {
  id: string;
  error?: { code: string; message: string; details?: Record<string, string> };
}

interface Failure {
  id: string;
  error: RequestError;
}

/**
 * Changes several records.
 *
 * @returns undefined if the administrator cancels
 * @throws RequestError if none could be changed
 */
async function changeAll(
  resource: ResourceInfo,
  ids: readonly string[],
  change: Change,
): Promise<{ done: string[]; failed: Failure[] } | undefined> {
  let results: BulkResult[] = [];
  const isSent = await sendWithCode(async (code) => {
    const body = { ids, ...change, ...code };
    results = (await call<BulkResult[]>(recordsPath(resource, 'bulk'), { method: 'POST', body })).data;
  });
  if (!isSent) return undefined;
  return {
    done: results.flatMap(({ id, error }) => (error === undefined ? [id] : [])),
    failed: results.flatMap(({ id, error }) =>
      error === undefined ? [] : [{ id, error: new RequestError(undefined, error.message, error) }],
    ),
  };
}

function showFailures(resource: ResourceInfo, failed: readonly Failure[], action: Action): Promise<void> {
  return openDialog<void>(({ close }) => (
    <Dialog title={texts.list.bulk.failed[action](countText(resource, failed.length))} onClose={close}>
      <ul class="failures">
        {failed.map(({ id, error }) => (
          <li key={id}>
            <code>{id}</code> {describeError(error)}
          </li>
        ))}
      </ul>
      <footer>
        <button type="button" class="primary" onClick={() => close()}>
          {kitTexts.close}
        </button>
      </footer>
    </Dialog>
  ));
}

/** Runs a change and reports how many records could not be changed, with the reasons. @returns false if the administrator cancels */
async function runBulk(
  resource: ResourceInfo,
  ids: readonly string[],
  change: Change,
  undo?: (ids: readonly string[]) => Promise<void>,
): Promise<boolean> {
  try {
    const result = await changeAll(resource, ids, change);
    if (result === undefined) return false;
    const { done, failed } = result;
    if (done.length > 0) {
      const action = undo && { label: texts.list.bulk.undo, run: () => undo(done) };
      showToast(texts.list.bulk.done[change.action](countText(resource, done.length)), { action });
    }
    if (failed.length > 0) await showFailures(resource, failed, change.action);
  } catch (error) {
    showError(error);
  }
  return true;
}

interface BulkBarProps {
  resource: ResourceInfo;
  rows: readonly StoredRecord[] | undefined;
  selected: ReadonlySet<string>;
  onDone: () => void;
}

/** What can be done with the selected records. */
function useBulkActions({ resource, selected, onDone }: BulkBarProps) {
  const ids = [...selected];
  const run = async (change: Change, undo?: (done: readonly string[]) => Promise<void>) => {
    if (await runBulk(resource, ids, change, undo)) onDone();
  };
  const undo = async (done: readonly string[]) => {
    await runBulk(resource, done, { action: 'restore' });
    onDone();
  };
  return {
    restore: () => run({ action: 'restore' }),
    async remove() {
      const question = {
        title: texts.list.bulk.deleteAll(countText(resource, ids.length)),
        text: resource.softDelete ? texts.list.bulk.restoredLater : texts.list.bulk.forGood,
        action: texts.list.bulk.deleteCount(ids.length),
        isDangerous: true,
      };
      if (!(await confirmAction(question))) return;
      await run({ action: 'delete' }, resource.softDelete ? undo : undefined);
    },
    async setField() {
      const values = await openDialog<Record<string, unknown> | undefined>(({ close }) => (
        <SetFieldDialog resource={resource} count={ids.length} close={close} />
      ));
      if (values !== undefined) await run({ action: 'update', values });
    },
  };
}

/** The number of selected records, and what can be done with them. */
export function BulkBar(props: BulkBarProps) {
  const { rows = [], selected, onDone } = props;
  const { restore, remove, setField } = useBulkActions(props);
  if (selected.size === 0) return null;
  const chosen = rows.filter(({ id }) => selected.has(id));
  const isDeleted = (record: StoredRecord) => (fieldValue(record, 'deletedAt') ?? null) !== null;
  const hasDeleted = chosen.some(isDeleted);
  const isAllDeleted = hasDeleted && chosen.length === selected.size && chosen.every(isDeleted);
  return (
    <div class="bulk" role="region" aria-label={texts.list.bulk.label}>
      <b role="status">{texts.list.bulk.selected(selected.size)}</b>
      {!isAllDeleted && (
        <button type="button" onClick={setField}>
          {texts.list.bulk.setField}
        </button>
      )}
      {hasDeleted && (
        <button type="button" onClick={restore}>
          <Icon name="restore" />
          {texts.list.bulk.restore}
        </button>
      )}
      {!isAllDeleted && (
        <button type="button" class="danger" onClick={remove}>
          <Icon name="trash" />
          {texts.list.bulk.delete}
        </button>
      )}
      <button type="button" class="plain" onClick={onDone}>
        {texts.list.bulk.clear}
      </button>
    </div>
  );
}
