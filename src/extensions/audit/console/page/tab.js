import {
  ActionButton,
  app,
  call,
  chosenParams,
  FilterForm,
  hrefOf,
  html,
  Listing,
  Nothing,
  Page,
  place,
  RecordLink,
  Section,
  Status,
  setParams,
  Time,
  UserFilter,
  useLoaded,
  usePages,
  userResource,
} from 'belfry/console';
import { useState } from 'preact/hooks';

const FILTERS = ['user', 'resource', 'record', 'action', 'from', 'to'];
const NAMES = { created: 'Created', updated: 'Changed', deleted: 'Deleted', restored: 'Restored' };

/** Actions that are offered as suggestions; any other action can be typed. */
const ACTIONS = [
  ...Object.keys(NAMES),
  'auth.login',
  'auth.login_failed',
  'auth.password_reset',
  'console.revealed',
  'console.exported',
  'console.imported',
];

const textOf = (value) =>
  value === undefined || value === null ? '–' : typeof value === 'string' ? value : JSON.stringify(value);

function ChangeList({ changes }) {
  return html`<dl class="audit-changes">
    ${Object.entries(changes).map(([field, change]) => {
      const hasValues = Object.hasOwn(change, 'from') || Object.hasOwn(change, 'to');
      return html`<div key=${field}>
        <dt>${field}</dt>
        <dd>
          ${hasValues ? html`<del>${textOf(change.from)}</del> → <ins>${textOf(change.to)}</ins>` : 'changed; the value is secret'}
        </dd>
      </div>`;
    })}
  </dl>`;
}

/** What an entry is about: a record of a resource of the app, or something else with an id. */
function Subject({ entry: { resource, record } }) {
  if (resource === null) return null;
  const isResource = app.value.resources.some(({ name }) => name === resource);
  if (record === null) return html`<span>${resource}</span>`;
  return html`<span>${resource} ${isResource ? html`<${RecordLink} resource=${resource} id=${record} />` : html`<code>${record}</code>`}</span>`;
}

function Entry({ entry }) {
  const { action, user, via, at, changes, details, ip, requestId, id } = entry;
  const users = userResource();
  return html`<li>
    <p class="audit-head">
      <b>${NAMES[action] ?? action}</b> <${Subject} entry=${entry} />
      <span class="soft">
        ${' '}${user && users ? html`by <${RecordLink} resource=${users.name} id=${user} />` : 'by the system'}
        ${via && via !== 'system' && ` · ${via}`} · <${Time} value=${at} />
      </span>
    </p>
    ${changes && html`<${ChangeList} changes=${changes} />`}
    <p class="soft audit-facts">
      <span>no. ${id}</span>${ip && html`<span>${ip}</span>`}${requestId && html`<span>request ${requestId}</span>`}
      ${details && html`<code>${JSON.stringify(details)}</code>`}
    </p>
  </li>`;
}

/** Limits the list. All of it is in the address. */
function Filters() {
  const { params } = place.value;
  const value = (name) => params.get(name) ?? '';
  const [record, setRecord] = useState(value('record'));
  const change = (name) => (event) => setParams({ [name]: event.target.value });
  const submit = () => setParams({ record: record.trim() });
  const forget = () => setRecord('');
  return html`<${FilterForm} kind="audit-filters" label="Filter the trail" clears=${FILTERS} onClear=${forget} onSubmit=${submit}>
    <label>Action
      <input list="audit-actions" value=${value('action')} placeholder="any" onChange=${change('action')} />
      <datalist id="audit-actions">${ACTIONS.map((name) => html`<option key=${name} value=${name} />`)}</datalist>
    </label>
    <label>Resource
      <input list="audit-resources" value=${value('resource')} placeholder="any" onChange=${change('resource')} />
      <datalist id="audit-resources">
        ${app.value.resources.map(({ name }) => html`<option key=${name} value=${name} />`)}
      </datalist>
    </label>
    <label>Id of the record
      <input value=${record} placeholder="any" onInput=${(event) => setRecord(event.target.value)} onBlur=${submit} />
    </label>
    <${UserFilter} name="user" label="User" />
  <//>`;
}

/** The result of the last verification of the chain. */
function Verification({ result: { rows, broken, guarded } }) {
  if (broken !== null)
    return html`<p class="banner bad" role="alert">
      Entry ${broken.id} is ${broken.fault}. The ${rows} entries before it are intact. Do not change the table; compare it with a backup.
    </p>`;
  return html`<p role="status" class="audit-result">
    <${Status} kind=${guarded ? 'good' : 'warn'}>${rows} entries are intact<//>
    ${!guarded && ' The triggers that protect the table are missing or disabled. Run the migrations.'}
  </p>`;
}

function NoEntries({ facts, isFiltered }) {
  if (isFiltered) return html`<${Nothing} title="No entry matches"><p>Change or clear the filters.</p><//>`;
  return html`<${Nothing} title="The trail is empty">
    <p>
      Sign-ins and changes of keys appear here. ${
        facts.audited.length === 0
          ? html`To record the changes of a resource, declare it with <code>audit: true</code>.`
          : `So do the changes of ${facts.audited.join(', ')}.`
      }
    </p>
  <//>`;
}

function AuditPage() {
  const [result, setResult] = useState();
  const facts = useLoaded('/audit/facts');
  const query = chosenParams(FILTERS);
  const list = usePages(hrefOf('/audit/entries', query));
  const verify = async () => {
    setResult((await call('/audit/verify', { method: 'POST' })).data);
  };
  return html`<${Page}
    title="Audit trail"
    intro=${facts.data && `Entries are kept for ${facts.data.keepDays} days, and nobody can change them.`}
    actions=${html`<${ActionButton} run=${list.reload}>Refresh<//><${ActionButton} run=${verify}>Verify the chain<//>`}
  >
    ${result && html`<${Verification} result=${result} />`}
    <${Filters} key=${query.get('record')} />
    <${Section} title="Entries, newest first">
      <${Listing} from=${list} empty=${facts.data && html`<${NoEntries} facts=${facts.data} isFiltered=${query.size > 0} />`}>
        ${(rows) => html`<ol class="audit-entries">${rows.map((entry) => html`<${Entry} key=${entry.id} entry=${entry} />`)}</ol>`}
      <//>
    <//>
  <//>`;
}

/** The audit trail. @type {import('../../../console/page/app.js').Tab} */
export const tab = {
  component: ({ children }) => children,
  routes: [{ path: '', component: AuditPage }],
};
