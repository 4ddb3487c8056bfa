import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { copyText } from '../../../kit/copy.tsx';
import { IconButton } from '../../../kit/icons.tsx';
import { type RequestError, toRequestError } from '../../../kit/request.ts';
import { showError, showToast } from '../../../kit/toasts.tsx';
import { useLeaveGuard } from '../../components/leave-guard.ts';
import { place } from '../../router.ts';
import { texts } from '../../texts.ts';
import type { ResourceInfo, StoredRecord } from '../app-info.ts';
import { dataHref, labelOf, nameOf, viewer } from '../schema.ts';
import { resolveConflict } from './conflict.tsx';
import { History } from './history.tsx';
import { RawRecord } from './raw-record.tsx';
import { RecordActions } from './record-actions.tsx';
import { type RecordVersion, readCurrent, saveRecord, useRecord } from './record-data.ts';
import { type RecordDraft, RecordForm, useDraft } from './record-form.tsx';
import { Details, NewerNotice, RecordHeading, RecordTabs } from './record-parts.tsx';
import { ViewerRecord } from './viewer-record.tsx';

/** The buttons of the form. They stay in view while there are changes. */
function SaveBar({ form, isBusy, onCancel }: { form: RecordDraft; isBusy: boolean; onCancel: () => void }) {
  const count = Object.keys(form.draft).length;
  return (
    <div class="save-bar">
      <span class="soft" role="status">
        {count > 0 ? texts.record.changedFields(count) : ''}
      </span>
      <button type="button" disabled={!form.isDirty || isBusy} onClick={onCancel}>
        {texts.record.discard}
      </button>
      <button type="submit" class="primary" disabled={!form.isDirty || isBusy} title={texts.record.saveKey}>
        {texts.record.save}
      </button>
    </div>
  );
}

/** Saves the changes; if the record has changed meanwhile, the user compares the versions and chooses. */
function useSave(
  resource: ResourceInfo,
  { version, accept }: ReturnType<typeof useRecord<StoredRecord>>,
  form: RecordDraft,
) {
  const [isBusy, setBusy] = useState(false);
  /** The version that a conflict is about. The choices are saved once the form has them. */
  const [pending, setPending] = useState<RecordVersion | undefined>(undefined);
  const resolve = async (theirs: RecordVersion) => {
    if (version === undefined) return;
    const versions = { base: version.record, theirs: theirs.record, draft: form.draft, labels: theirs.meta.labels };
    const choices = await resolveConflict(resource, versions);
    if (choices === undefined) return;
    accept(theirs);
    form.replace(choices);
    setPending(theirs);
  };
  const save = async (current: RecordVersion) => {
    const values = form.input();
    if (values === undefined) return;
    setBusy(true);
    try {
      const isEmpty = Object.keys(values).length === 0;
      accept(isEmpty ? current : await saveRecord(resource, current, values));
      form.forgetSaved();
      showToast(texts.record.saved);
    } catch (error) {
      if (toRequestError(error).status === 412)
        await readCurrent(resource, current.record.id).then(resolve).catch(showError);
      else form.fail(error);
    }
    setBusy(false);
  };
  useEffect(() => {
    if (pending === undefined) return;
    setPending(undefined);
    save(pending);
  }, [pending]);
  return { isBusy, save, resolve };
}

/** The frame of the page. The heading keeps its place in all states, and with it the focus. */
function RecordMain({
  resource,
  title,
  version,
  reload,
  state,
  children,
}: {
  resource: ResourceInfo;
  title: string;
  /** Undefined while nothing of the record can be shown. */
  version?: RecordVersion;
  reload: () => Promise<void>;
  state?: 'loading' | 'changed';
  children: ComponentChildren;
}) {
  return (
    <main
      id="main"
      class={`page record-page ${state === 'changed' ? state : ''}`}
      aria-busy={state === 'loading' ? 'true' : undefined}
    >
      <header class="page-head">
        <RecordHeading resource={resource} title={title}>
          {version && (
            <p class="record-id">
              <code>{version.record.id}</code>
              <IconButton icon="copy" label={texts.record.copyId} onClick={() => copyText(version.record.id)} />
            </p>
          )}
        </RecordHeading>
        {version && <RecordActions resource={resource} {...version} reload={reload} />}
      </header>
      {children}
    </main>
  );
}

/** What is shown instead of a record that cannot be read. */
function RecordError({ resource, error }: { resource: ResourceInfo; error: RequestError }) {
  return (
    <>
      <p>{error.message}</p>
      <p>
        <a href={dataHref([resource.name])}>{texts.record.showAll(nameOf(resource, 2))}</a>
      </p>
    </>
  );
}

/** The chosen part of the page, and the details beside it. */
function RecordContent({
  resource,
  version,
  form,
  isBusy,
  onSave,
  onDiscard,
}: {
  resource: ResourceInfo;
  version: RecordVersion;
  form: RecordDraft;
  isBusy: boolean;
  onSave: () => void;
  onDiscard: () => void;
}) {
  const { record, meta } = version;
  const part = place.value.params.get('tab') ?? 'fields';
  return (
    <>
      <RecordTabs resource={resource} current={part} />
      <div class="record-columns">
        {/* The form stays while another part is shown, so that its changes are not lost. */}
        <div hidden={part !== 'fields'}>
          <RecordForm
            resource={resource}
            form={form}
            record={record}
            labels={meta.labels}
            isNew={false}
            lock={meta.deleted ? texts.record.lockDeleted : undefined}
            isBusy={isBusy}
            onSubmit={onSave}
          >
            {!meta.deleted && <SaveBar form={form} isBusy={isBusy} onCancel={onDiscard} />}
          </RecordForm>
        </div>
        {part === 'history' && <History key={meta.version} resource={resource} record={record} />}
        {part === 'json' && <RawRecord resource={resource} record={record} draft={form.draft} />}
        <Details resource={resource} {...version} />
      </div>
    </>
  );
}

/** The editor of a stored record. */
function EditableRecord({ resource, id }: { resource: ResourceInfo; id: string }) {
  const hasDraft = useRef(false);
  const shown = useRecord(resource, id, () => hasDraft.current);
  const { version, error, newer, isChanged, reload } = shown;
  const form = useDraft(resource, version?.record, false);
  hasDraft.current = form.isDirty;
  useLeaveGuard(form.isDirty);
  const { isBusy, save, resolve } = useSave(resource, shown, form);
  const discard = () => {
    form.replace({});
    hasDraft.current = false;
    if (newer !== undefined) reload();
  };
  const frame = { resource, reload };
  if (error !== undefined)
    return (
      <RecordMain
        {...frame}
        title={error.status === 404 ? texts.record.notFound(nameOf(resource)) : texts.record.unreadable}
      >
        <RecordError resource={resource} error={error} />
      </RecordMain>
    );
  if (version === undefined)
    return (
      <RecordMain {...frame} title="…" state="loading">
        <div class="record-columns skeleton-form">
          {resource.fields.map(({ name }) => (
            <span key={name} class="bone"></span>
          ))}
        </div>
      </RecordMain>
    );
  return (
    <RecordMain
      {...frame}
      title={labelOf(version.record, version.meta.titles)}
      version={version}
      state={isChanged ? 'changed' : undefined}
    >
      {version.meta.deleted && <p class="banner warn">{texts.record.isDeleted}</p>}
      <NewerNotice newer={newer} onCompare={resolve} onDiscard={discard} />
      <RecordContent
        resource={resource}
        version={version}
        form={form}
        isBusy={isBusy}
        onSave={() => save(version)}
        onDiscard={discard}
      />
    </RecordMain>
  );
}

/** The page of a record: to edit, or as a viewer sees it. */
export function RecordPage({ resource, id }: { resource: ResourceInfo; id: string }) {
  const Page = viewer() === undefined ? EditableRecord : ViewerRecord;
  return <Page resource={resource} id={id} />;
}
