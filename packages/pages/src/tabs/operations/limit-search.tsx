import { useState } from 'preact/hooks';
import {
  ActionButton,
  call,
  type Load,
  Loaded,
  place,
  RecordLink,
  Section,
  setParams,
  useLoaded,
  userResource,
} from '../../console/kit.ts';
import { Marked, numberText } from './format.tsx';
import { ClientTable } from './limit-clients.tsx';
import { LockState } from './lockouts.tsx';
import { texts } from './texts.ts';
import type { FoundAccount, FoundCounts } from './types.ts';

const { search: words } = texts;

/** The result of a search for an account. */
function Account({ q, user, lockouts, reload }: FoundAccount & { q: string; reload: () => Promise<void> }) {
  const users = userResource();
  const unlock = async () => {
    await call(`/operations/limits/accounts/${user}/unlock`, { method: 'POST' });
    await reload();
  };
  return (
    <div class="card">
      <div class="operations-row-head">
        <span>{user && users ? <RecordLink resource={users.name} id={user} /> : words.noAccount(q)}</span>
        {user && lockouts.length > 0 && (
          <ActionButton kind="primary" run={unlock} done={words.unlocked}>
            {words.unlock}
          </ActionButton>
        )}
      </div>
      {lockouts.length === 0 ? (
        <p class="soft">{words.noLock}</p>
      ) : (
        <ul class="operations-findings">
          {lockouts.map(({ id, kind, failures, lockedUntil }) => (
            <li key={id}>
              <LockState lockedUntil={lockedUntil} />
              <span>
                {words.kinds[kind]}
                {failures > 0 && `: ${words.failures(numberText(failures))}`}
              </span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

interface SearchProps {
  onChange: () => Promise<unknown>;
}

function Found({ q, from, onChange }: SearchProps & { q: string; from: Load<FoundCounts> }) {
  const reload = async () => {
    await Promise.all([from.reload(), onChange()]);
  };
  return (
    <Loaded from={from}>
      {(found) => {
        const { counts } = found;
        const label = words.countsOf(found.kind === 'address' ? found.client : q);
        const table = counts.length > 0 && <ClientTable label={label} rows={counts} onDone={reload} />;
        if (found.kind === 'address')
          return (
            table || (
              <p class="card">
                <Marked text={words.notCounted(found.client)} />
              </p>
            )
          );
        return (
          <>
            <Account q={q} user={found.user} lockouts={found.lockouts} reload={reload} />
            {table}
          </>
        );
      }}
    </Loaded>
  );
}

/** A search for one client or account. The text is in the address. */
export function Search({ onChange }: SearchProps) {
  const q = place.value.params.get('q') ?? '';
  const [text, setText] = useState(q);
  const found = useLoaded<FoundCounts>(
    q === '' ? undefined : `/operations/limits/lookup?${new URLSearchParams({ q })}`,
  );
  const submit = (event: Event) => {
    event.preventDefault();
    setParams({ q: text.trim() });
  };
  return (
    <Section title={words.title}>
      <form class="filters operations-search" role="search" onSubmit={submit}>
        <label>
          {words.field}
          <input
            value={text}
            maxlength={320}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary">
          {words.submit}
        </button>
      </form>
      {q !== '' && <Found q={q} from={found} onChange={onChange} />}
    </Section>
  );
}
