import { confirmAction } from '../../../kit/dialog.tsx';
import { Icon } from '../../../kit/icons.tsx';
import { showError, showToast } from '../../../kit/toasts.tsx';
import { allowLeaving } from '../../components/leave-guard.ts';
import { navigate } from '../../router.ts';
import { texts } from '../../texts.ts';
import type { ResourceInfo } from '../app-info.ts';
import { countText, dataHref, labelOf, resourceOf, userResource } from '../schema.ts';
import { deleteRecord, type RecordMeta, type RecordVersion, restoreRecord } from './record-data.ts';

/** Says how many records of a resource refer to the record; nothing if none does. */
function referringText({ resource: name, count }: RecordMeta['relations'][number]): string[] {
  const resource = resourceOf(name);
  return resource === undefined || !count ? [] : [texts.record.referring(countText(resource, count))];
}

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
      showToast(texts.record.restored(resource.label));
      await show();
    } catch (error) {
      showError(error);
    }
  };
  const undo = () => restore(() => navigate(dataHref([resource.name, record.id])));
  const remove = async () => {
    const question = {
      title: texts.record.deleteRecord(labelOf(record, meta.titles)),
      text: [
        ...meta.relations.flatMap(referringText),
        resource.softDelete ? texts.record.restoredLater : texts.record.forGood,
      ].join(' '),
      action: texts.record.delete,
      isDangerous: true,
    };
    if (!(await confirmAction(question))) return;
    try {
      if (!(await deleteRecord(resource, { record, meta }))) return;
      allowLeaving();
      showToast(
        texts.record.deleted(resource.label),
        resource.softDelete ? { action: { label: texts.record.undo, run: undo } } : {},
      );
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
          {texts.record.openAccount}
        </a>
      )}
      {meta.deleted ? (
        <button type="button" class="primary" onClick={() => restore(reload)}>
          <Icon name="restore" />
          {texts.record.restore}
        </button>
      ) : (
        <button type="button" class="danger quiet" onClick={remove}>
          <Icon name="trash" />
          {texts.record.delete}
        </button>
      )}
    </div>
  );
}
