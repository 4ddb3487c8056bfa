import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { allowLeaving, confirmAction, showError, showToast, useLeaveGuard } from '../../components/feedback.js';
import { Icon, IconButton } from '../../components/icons.js';
import { copyText } from '../../components/menu.js';
import { navigate, place, setParams, usePageTitle } from '../../router.js';
import { app, dataHref, labelOf, nameOf, userResource, viewer } from '../schema.js';
import { resolveConflict } from './conflict.js';
import { createRecord, deleteRecord, readCurrent, restoreRecord, saveRecord, useRecord } from './record-data.js';
import { RecordForm, useDraft } from './record-form.js';
import { Details, History, RawRecord } from './record-parts.js';
import { ViewerRecord } from './viewer-record.js';

function Heading({ resource, children, title }) {
  usePageTitle(`${title} · ${resource.plural}`, app.value.name);
  return html`<div class="record-heading">
    <nav aria-label="Breadcrumb"><a href=${dataHref([resource.name])}>${resource.plural}</a></nav>
    <h1 tabindex="-1">${title}</h1>
    ${children}
  </div>`;
}

/** The buttons of the form. They stay in view while there are changes. */
function SaveBar({ form, isBusy, label, onCancel }) {
  const count = Object.keys(form.draft).length;
  return html`<div class="save-bar">
    <span class="soft" role="status">${count > 0 ? `${count} ${count === 1 ? 'field' : 'fields'} changed` : ''}</span>
    <button type="button" disabled=${!form.isDirty || isBusy} onClick=${onCancel}>Discard</button>
    <button type="submit" class="primary" disabled=${!form.isDirty || isBusy} title="Ctrl+S">${label}</button>
  </div>`;
}

/** The page that creates a record. */
export function CreatePage({ resource }) {
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
      showToast(`${resource.label} created`);
      await navigate(dataHref([resource.name, id]), { replace: true });
    } catch (error) {
      form.fail(error);
    }
    setBusy(false);
  };
  return html`<main id="main" class="page record-page">
    <header class="page-head"><${Heading} resource=${resource} title=${`New ${nameOf(resource)}`} /></header>
    <div class="record-columns single">
      <${RecordForm} resource=${resource} form=${form} labels=${{}} isNew=${true} onSubmit=${submit}>
        <div class="save-bar">
          <a class="button" href=${dataHref([resource.name])}>Cancel</a>
          <button type="submit" class="primary" disabled=${isBusy}>Create ${nameOf(resource)}</button>
        </div>
      <//>
    </div>
  </main>`;
}

/** Saves the changes; if the record has changed meanwhile, the user compares the versions and chooses. */
function useSave(resource, shown, form) {
  const [isBusy, setBusy] = useState(false);
  /** @param {any} theirs the current version, if it is known to be newer */
  const resolve = async (theirs) => {
    const versions = { base: shown.record, theirs: theirs.record, draft: form.draft, labels: theirs.meta.labels };
    const choices = await resolveConflict(resource, versions);
    if (choices === undefined) return;
    shown.accept(theirs);
    form.replace(choices);
    setPending({ theirs, choices });
  };
  /** The choices of a conflict are saved once the form has them. */
  const [pending, setPending] = useState(undefined);
  const save = async (version = shown) => {
    const values = form.input();
    if (values === undefined) return;
    setBusy(true);
    try {
      const isEmpty = Object.keys(values).length === 0;
      shown.accept(isEmpty ? version : await saveRecord(resource, version, values));
      form.replace({});
      showToast('Saved');
    } catch (error) {
      if (error.status === 412) await readCurrent(resource, shown.record.id).then(resolve).catch(showError);
      else form.fail(error);
    }
    setBusy(false);
  };
  useEffect(() => {
    if (pending === undefined) return;
    setPending(undefined);
    save(pending.theirs);
  }, [pending]);
  return { isBusy, save: () => save(), resolve };
}

/** What happens to the record as a whole. */
function RecordActions({ resource, record, meta, reload }) {
  const restore = async () => {
    try {
      if (!(await restoreRecord(resource, record.id))) return;
      showToast(`${resource.label} restored`);
      await reload();
    } catch (error) {
      showError(error);
    }
  };
  const undo = async () => {
    try {
      if (!(await restoreRecord(resource, record.id))) return;
      showToast(`${resource.label} restored`);
      await navigate(dataHref([resource.name, record.id]));
    } catch (error) {
      showError(error);
    }
  };
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
  return html`<div class="actions">
    ${hasAccount && html`<a class="button" href=${`/console/accounts/users/${encodeURIComponent(record.id)}`}>Open the account</a>`}
    ${
      meta.deleted
        ? html`<button type="button" class="primary" onClick=${restore}><${Icon} name="restore" />Restore</button>`
        : html`<button type="button" class="danger quiet" onClick=${remove}><${Icon} name="trash" />Delete</button>`
    }
  </div>`;
}

function Tabs({ resource }) {
  const current = place.value.params.get('tab') ?? 'fields';
  const tabs = [
    ['fields', 'Fields'],
    ...(app.value.features.audit ? [['history', 'History']] : []),
    ['json', 'JSON and API'],
  ];
  return html`<nav class="tabs" aria-label=${`Parts of the ${resource.label}`}>
    ${tabs.map(
      ([id, label]) => html`<button
        key=${id}
        type="button"
        aria-current=${id === current ? 'page' : undefined}
        onClick=${() => setParams({ tab: id === 'fields' ? undefined : id })}
      >
        ${label}
      </button>`,
    )}
  </nav>`;
}

/** Says that the record has changed while it is being edited. */
function NewerNotice({ newer, onCompare, onDiscard }) {
  if (newer === undefined) return null;
  return html`<div class="banner warn" role="status">
    <span>${newer === 'deleted' ? 'This record was deleted while you were editing it.' : 'This record changed while you were editing it.'}</span>
    ${newer !== 'deleted' && html`<button type="button" onClick=${onCompare}>Compare</button>`}
    <button type="button" class="plain" onClick=${onDiscard}>Discard my changes</button>
  </div>`;
}

/** The editor of a stored record. */
function EditableRecord({ resource, id }) {
  const hasDraft = useRef(false);
  const shown = useRecord(resource, id, () => hasDraft.current);
  const { record, meta, error, newer, isChanged, reload } = shown;
  const form = useDraft(resource, record, false);
  hasDraft.current = form.isDirty;
  useLeaveGuard(form.isDirty);
  const { isBusy, save, resolve } = useSave(resource, shown, form);
  const discard = () => {
    form.replace({});
    hasDraft.current = false;
    if (newer !== undefined) reload();
  };
  // The heading keeps its place in all states, and with it the focus.
  if (error !== undefined)
    return html`<main id="main" class="page record-page">
      <header class="page-head">
        <${Heading}
          resource=${resource}
          title=${error.status === 404 ? `There is no such ${nameOf(resource)}` : 'The record cannot be read'}
        />
      </header>
      <p>${error.message}</p>
      <p><a href=${dataHref([resource.name])}>Show all ${nameOf(resource, 2)}</a></p>
    </main>`;
  if (record === undefined)
    return html`<main id="main" class="page record-page" aria-busy="true">
      <header class="page-head"><${Heading} resource=${resource} title="…" /></header>
      <div class="record-columns skeleton-form">
        ${resource.fields.map(({ name }) => html`<span key=${name} class="bone"></span>`)}
      </div>
    </main>`;
  const tab = place.value.params.get('tab') ?? 'fields';
  return html`<main id="main" class=${`page record-page ${isChanged ? 'changed' : ''}`}>
    <header class="page-head">
      <${Heading} resource=${resource} title=${labelOf(resource, record)}>
        <p class="record-id"><code>${record.id}</code><${IconButton} icon="copy" label="Copy the id" onClick=${() => copyText(record.id)} /></p>
      <//>
      <${RecordActions} resource=${resource} record=${record} meta=${meta} reload=${reload} />
    </header>
    ${meta.deleted && html`<p class="banner warn">This record is deleted. Restore it to change it.</p>`}
    <${NewerNotice} newer=${newer} onCompare=${() => resolve(newer)} onDiscard=${discard} />
    <${Tabs} resource=${resource} />
    <div class="record-columns">
      ${
        // The form stays while another part is shown, so that its changes are not lost.
        html`<div hidden=${tab !== 'fields'}>
          <${RecordForm} resource=${resource} form=${form} record=${record} labels=${meta.labels} isNew=${false} lock=${meta.deleted ? 'Deleted' : undefined} onSubmit=${save}>
            ${!meta.deleted && html`<${SaveBar} form=${form} isBusy=${isBusy} label="Save" onCancel=${discard} />`}
          <//>
        </div>`
      }
      ${tab === 'history' && html`<${History} key=${meta.version} resource=${resource} record=${record} />`}
      ${tab === 'json' && html`<${RawRecord} resource=${resource} record=${record} draft=${form.draft} />`}
      <${Details} resource=${resource} record=${record} meta=${meta} />
    </div>
  </main>`;
}

/** The page of a record: to edit, or as a viewer sees it. */
export function RecordPage({ resource, id }) {
  if (viewer() !== undefined) return html`<${ViewerRecord} resource=${resource} id=${id} />`;
  return html`<${EditableRecord} resource=${resource} id=${id} />`;
}
