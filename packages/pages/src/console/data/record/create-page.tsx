import { useState } from 'preact/hooks';
import { texts as kitTexts } from '../../../kit/texts.ts';
import { showToast } from '../../../kit/toasts.tsx';
import { allowLeaving, useLeaveGuard } from '../../components/leave-guard.ts';
import { navigate } from '../../router.ts';
import { texts } from '../../texts.ts';
import type { ResourceInfo } from '../app-info.ts';
import { dataHref, nameOf } from '../schema.ts';
import { createRecord } from './record-data.ts';
import { RecordForm, useDraft } from './record-form.tsx';
import { RecordHeading } from './record-parts.tsx';

/** The page that creates a record. */
export function CreatePage({ resource }: { resource: ResourceInfo }) {
  const form = useDraft(resource, undefined, true);
  const [isBusy, setBusy] = useState(false);
  useLeaveGuard(form.isDirty);
  const submit = async () => {
    const values = form.input();
    if (values === undefined) return;
    setBusy(true);
    try {
      const { id } = await createRecord(resource, values);
      form.replace({});
      allowLeaving();
      showToast(texts.record.created(resource.label));
      await navigate(dataHref([resource.name, id]), { replace: true });
    } catch (error) {
      form.fail(error);
    }
    setBusy(false);
  };
  return (
    <main id="main" class="page record-page">
      <header class="page-head">
        <RecordHeading resource={resource} title={texts.record.newRecord(nameOf(resource))} />
      </header>
      <div class="record-columns single">
        <RecordForm resource={resource} form={form} labels={{}} isNew={true} isBusy={isBusy} onSubmit={submit}>
          <div class="save-bar">
            <a class="button" href={dataHref([resource.name])}>
              {kitTexts.cancel}
            </a>
            <button type="submit" class="primary" disabled={isBusy}>
              {texts.record.create(nameOf(resource))}
            </button>
          </div>
        </RecordForm>
      </div>
    </main>
  );
}
