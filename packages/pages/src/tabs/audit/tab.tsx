import './audit.css';
import { useState } from 'preact/hooks';
import {
  ActionButton,
  app,
  call,
  chosenParams,
  FilterForm,
  hrefOf,
  Listing,
  Nothing,
  Page,
  place,
  RecordLink,
  Section,
  Status,
  setParams,
  type Tab,
  Time,
  UserFilter,
  useLoaded,
  usePages,
  userResource,
} from '../../console/kit.ts';
import type { AuditEntry, AuditFacts, FieldChange, VerificationResult } from './types.ts';

const FILTERS = ['user', 'resource', 'record', 'action', 'from', 'to'];
const NAMES: Record<string, string> = {
  created: 'Created',
  updated: 'Changed',
  deleted: 'Deleted',
  restored: 'Restored',
};

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

const textOf = (value: unknown) =>
  value === undefined || value === null ? '–' : typeof value === 'string' ? value : JSON.stringify(value);

function ChangeList({ changes }: { changes: Record<string, FieldChange> }) {
  return (
    <dl class="audit-changes">
      {Object.entries(changes).map(([field, change]) => {
        const hasValues = Object.hasOwn(change, 'from') || Object.hasOwn(change, 'to');
        return (
          <div key={field}>
            <dt>{field}</dt>
            <dd>
              {hasValues ? (
                <>
                  <del>{textOf(change.from)}</del> → <ins>{textOf(change.to)}</ins>
                </>
              ) : (
                'changed; the value is secret'
              )}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

/** What an entry is about: a record of a resource of the app, or something else with an id. */
function Subject({ entry: { resource, record } }: { entry: AuditEntry }) {
  if (resource === null) return null;
  const isResource = app.value.resources.some(({ name }) => name === resource);
  if (record === null) return <span>{resource}</span>;
  return (
    <span>
      {resource} {isResource ? <RecordLink resource={resource} id={record} /> : <code>{record}</code>}
    </span>
  );
}

function Entry({ entry }: { entry: AuditEntry }) {
  const { action, user, via, at, changes, details, ip, requestId, id } = entry;
  const users = userResource();
  return (
    <li>
      <p class="audit-head">
        <b>{NAMES[action] ?? action}</b> <Subject entry={entry} />
        <span class="soft">
          {' '}
          {user && users ? (
            <>
              by <RecordLink resource={users.name} id={user} />
            </>
          ) : (
            'by the system'
          )}
          {via && via !== 'system' && ` · ${via}`} · <Time value={at} />
        </span>
      </p>
      {changes && <ChangeList changes={changes} />}
      <p class="soft audit-facts">
        <span>no. {id}</span>
        {ip && <span>{ip}</span>}
        {requestId && <span>request {requestId}</span>}
        {details && <code>{JSON.stringify(details)}</code>}
      </p>
    </li>
  );
}

/** Limits the list. All of it is in the address. */
function Filters() {
  const { params } = place.value;
  const value = (name: string) => params.get(name) ?? '';
  const [record, setRecord] = useState(value('record'));
  const change = (name: string) => (event: { currentTarget: { value: string } }) =>
    setParams({ [name]: event.currentTarget.value });
  const submit = () => setParams({ record: record.trim() });
  const forget = () => setRecord('');
  return (
    <FilterForm kind="audit-filters" label="Filter the trail" clears={FILTERS} onClear={forget} onSubmit={submit}>
      <label>
        Action
        <input list="audit-actions" value={value('action')} placeholder="any" onChange={change('action')} />
        <datalist id="audit-actions">
          {ACTIONS.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
      <label>
        Resource
        <input list="audit-resources" value={value('resource')} placeholder="any" onChange={change('resource')} />
        <datalist id="audit-resources">
          {app.value.resources.map(({ name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
      <label>
        Id of the record
        <input
          value={record}
          placeholder="any"
          onInput={(event) => setRecord(event.currentTarget.value)}
          onBlur={submit}
        />
      </label>
      <UserFilter name="user" label="User" />
    </FilterForm>
  );
}

/** The result of the last verification of the chain. */
function Verification({ result: { rows, broken, guarded } }: { result: VerificationResult }) {
  if (broken !== null)
    return (
      <p class="banner bad" role="alert">
        Entry {broken.id} is {broken.fault}. The {rows} entries before it are intact. Do not change the table; compare
        it with a backup.
      </p>
    );
  return (
    <p role="status" class="audit-result">
      <Status kind={guarded ? 'good' : 'warn'}>{rows} entries are intact</Status>
      {!guarded && ' The triggers that protect the table are missing or disabled. Run the migrations.'}
    </p>
  );
}

function NoEntries({ facts, isFiltered }: { facts: AuditFacts; isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Nothing title="No entry matches">
        <p>Change or clear the filters.</p>
      </Nothing>
    );
  return (
    <Nothing title="The trail is empty">
      <p>
        Sign-ins and changes of keys appear here.{' '}
        {facts.audited.length === 0 ? (
          <>
            To record the changes of a resource, declare it with <code>audit: true</code>.
          </>
        ) : (
          `So do the changes of ${facts.audited.join(', ')}.`
        )}
      </p>
    </Nothing>
  );
}

function AuditPage() {
  const [result, setResult] = useState<VerificationResult>();
  const facts = useLoaded<AuditFacts>('/audit/facts');
  const query = chosenParams(FILTERS);
  const list = usePages<AuditEntry>(hrefOf('/audit/entries', query));
  const verify = async () => {
    setResult((await call<VerificationResult>('/audit/verify', { method: 'POST' })).data);
  };
  return (
    <Page
      title="Audit trail"
      intro={facts.data && `Entries are kept for ${facts.data.keepDays} days, and nobody can change them.`}
      actions={
        <>
          <ActionButton run={list.reload}>Refresh</ActionButton>
          <ActionButton run={verify}>Verify the chain</ActionButton>
        </>
      }
    >
      {result && <Verification result={result} />}
      <Filters key={query.get('record')} />
      <Section title="Entries, newest first">
        <Listing from={list} empty={facts.data && <NoEntries facts={facts.data} isFiltered={query.size > 0} />}>
          {(rows) => (
            <ol class="audit-entries">
              {rows.map((entry) => (
                <Entry key={entry.id} entry={entry} />
              ))}
            </ol>
          )}
        </Listing>
      </Section>
    </Page>
  );
}

/** The audit trail. */
export const tab: Tab = {
  component: ({ children }) => children,
  routes: [{ path: '', component: AuditPage }],
};
