import './audit.css';
import { useState } from 'preact/hooks';
import {
  ActionButton,
  call,
  chosenParams,
  FilterForm,
  hrefOf,
  Listing,
  Nothing,
  Page,
  place,
  Section,
  SelectFilter,
  Status,
  setParams,
  type Tab,
  UserFilter,
  useLoaded,
  usePages,
} from '../../console/kit.ts';
import { Entry, kindText } from './entry.tsx';
import type { AuditEntry, AuditFacts, VerificationResult } from './types.ts';

const FILTERS = ['user', 'resource', 'record', 'action', 'from', 'to'];

/** The choices of a filter, and the one in the address, which the trail need not contain. */
function choicesOf(name: string, choices: readonly (readonly [value: string, text: string])[]) {
  const chosen = place.value.params.get(name);
  const isKnown = chosen === null || choices.some(([value]) => value === chosen);
  return isKnown ? choices : [...choices, [chosen, chosen] as const];
}

/** Limits the list. All of it is in the address. */
function Filters({ facts }: { facts: AuditFacts | undefined }) {
  const { params } = place.value;
  const [record, setRecord] = useState(params.get('record') ?? '');
  const submit = () => setParams({ record: record.trim() });
  const forget = () => setRecord('');
  return (
    <FilterForm kind="audit-filters" label="Filter the trail" clears={FILTERS} onClear={forget} onSubmit={submit}>
      <SelectFilter
        name="action"
        label="Action"
        all="Any action"
        options={choicesOf(
          'action',
          (facts?.actions ?? []).map(({ action, words }) => [action, words]),
        )}
      />
      <SelectFilter
        name="resource"
        label="Kind of record"
        all="Any kind"
        options={choicesOf(
          'resource',
          (facts?.resources ?? []).map((name) => [name, kindText(name)]),
        )}
      />
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
          `So do the changes of ${facts.audited.map(kindText).join(', ')}.`
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
      <Filters key={query.get('record')} facts={facts.data} />
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
