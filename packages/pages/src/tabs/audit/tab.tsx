import { locale } from '../../kit/language.ts';
import { numberText } from '../../kit/numbers.ts';
import { richText } from '../../kit/rich-text.ts';
import { texts } from './texts.ts';
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
import type { AuditFacts, ListedEntry, VerificationResult } from './types.ts';

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
    <FilterForm kind="audit-filters" label={texts.filters.label} clears={FILTERS} onClear={forget} onSubmit={submit}>
      <SelectFilter
        name="action"
        label={texts.filters.action}
        all={texts.filters.anyAction}
        options={choicesOf(
          'action',
          (facts?.actions ?? [])
            .toSorted((a, b) => a.words.localeCompare(b.words, locale))
            .map(({ action, words }) => [action, words] as const),
        )}
      />
      <SelectFilter
        name="resource"
        label={texts.filters.kind}
        all={texts.filters.anyKind}
        options={choicesOf(
          'resource',
          (facts?.resources ?? []).map((name) => [name, kindText(name)]),
        )}
      />
      <label>
        {texts.filters.record}
        <input
          value={record}
          placeholder={texts.filters.any}
          onInput={(event) => setRecord(event.currentTarget.value)}
          onBlur={submit}
        />
      </label>
      <UserFilter name="user" label={texts.filters.user} />
    </FilterForm>
  );
}

/** The result of the last verification of the chain. */
function Verification({ result: { rows, broken, guarded } }: { result: VerificationResult }) {
  if (broken !== null)
    return (
      <p class="banner bad" role="alert">
        {texts.broken(broken.id, texts.faults[broken.fault], numberText(rows))}
      </p>
    );
  return (
    <p role="status" class="audit-result">
      <Status kind={guarded ? 'good' : 'warn'}>{texts.intact(rows, numberText(rows))}</Status>
      {!guarded && ` ${texts.unguarded}`}
    </p>
  );
}

function NoEntries({ facts, isFiltered }: { facts: AuditFacts; isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Nothing title={texts.noMatch}>
        <p>{texts.noMatchText}</p>
      </Nothing>
    );
  return (
    <Nothing title={texts.empty}>
      <p>
        {texts.emptyText}{' '}
        {facts.audited.length === 0
          ? richText(texts.emptyAudit, { code: <code>audit: true</code> })
          : texts.emptyAudited(facts.audited.map(kindText).join(', '))}
      </p>
    </Nothing>
  );
}

function AuditPage() {
  const [result, setResult] = useState<VerificationResult>();
  const facts = useLoaded<AuditFacts>('/audit/facts');
  const query = chosenParams(FILTERS);
  const list = usePages<ListedEntry>(hrefOf('/audit/entries', query));
  const verify = async () => {
    setResult((await call<VerificationResult>('/audit/verify', { method: 'POST' })).data);
  };
  return (
    <Page
      title={texts.title}
      intro={facts.data && texts.intro(facts.data.keepDays)}
      actions={
        <>
          <ActionButton run={list.reload}>{texts.refresh}</ActionButton>
          <ActionButton run={verify}>{texts.verify}</ActionButton>
        </>
      }
    >
      {result && <Verification result={result} />}
      <Filters key={query.get('record')} facts={facts.data} />
      <Section title={texts.entries}>
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
