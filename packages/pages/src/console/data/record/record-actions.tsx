import { confirmAction } from '../../../kit/dialog.tsx';
import { Icon } from '../../../kit/icons.tsx';
import { showError, showToast } from '../../../kit/toasts.tsx';
import { allowLeaving } from '../../components/leave-guard.ts';
import { navigate } from '../../router.ts';
import type { ResourceInfo } from '../app-info.ts';
import { dataHref, labelOf, userResource } from '../schema.ts';
import { deleteRecord, type RecordVersion, restoreRecord } from './record-data.ts';

/** What happens to the record as a whole. */
export function RecordActions({
  resource,
  record,
  meta,
  reload,
}: RecordVersion & {
  resource: ResourceInfo;
  reload: () => Promise<void>;
}) {
  const restore = async (show: () => Promise<unknown>) => {
    try {
      if (!(await restoreRecord(resource, record.id))) return;
      showToast(`${resource.label} restored`);
      await show();
    } catch (error) {
      showError(error);
    }
  };
  const undo = () => restore(() => navigate(dataHref([resource.name, record.id])));
  const remove = async () => {
    const question = {
      title: `Delete “${labelOf(resource, record)}”?`,
      text: resource.softDelete ? 'It can be restored later.' : 'This cannot be undone.',
      action: 'Delete',
      isDangerous: true,
    };
    if (!(await confirmAction(question))) return;
    try {
      if (!(await deleteRecord(resource, { record, meta }))) return;
      allowLeaving();
      showToast(`${resource.label} deleted`, resource.softDelete ? { action: { label: 'Undo', run: undo } } : {});
      await navigate(dataHref([resource.name]));
    } catch (error) {
      showError(error);
    }
  };
  const hasAccount = resource === userResource() && !meta.deleted;
  return (
    <div class="actions">
      {hasAccount && (
        <a class="button" href={`/console/accounts/users/${encodeURIComponent(record.id)}`}>
          Open the account
        </a>
      )}
      {meta.deleted ? (
        <button type="button" class="primary" onClick={() => restore(reload)}>
          <Icon name="restore" />
          Restore
        </button>
      ) : (
        <button type="button" class="danger quiet" onClick={remove}>
          <Icon name="trash" />
          Delete
        </button>
      )}
    </div>
  );
}
