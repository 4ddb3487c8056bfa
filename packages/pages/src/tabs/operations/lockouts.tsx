import {
  ActionButton,
  call,
  DataTable,
  type Load,
  Loaded,
  Nothing,
  Section,
  Status,
  type TableColumn,
  Time,
} from '../../console/kit.ts';
import { numberText } from './format.tsx';
import { texts } from './texts.ts';
import type { LockoutEntry, LockoutList } from './types.ts';

const { lockouts: words } = texts;

/** Whether an account is locked. */
export function LockState({ lockedUntil }: Pick<LockoutEntry, 'lockedUntil'>) {
  return lockedUntil === null ? (
    <Status kind="neutral">{words.notLocked}</Status>
  ) : (
    <Status kind="bad">
      {words.locked} <Time value={lockedUntil} />
    </Status>
  );
}

const lockColumns = (onDone: () => Promise<void>): TableColumn<LockoutEntry>[] => [
  {
    name: 'id',
    label: words.hash,
    render: ({ id }) => <code title={id}>{id.slice(0, 12)}…</code>,
  },
  {
    name: 'failures',
    label: words.failures,
    isNumber: true,
    render: ({ failures, lockedUntil }) => (lockedUntil !== null && failures === 0 ? '–' : numberText(failures)),
  },
  { name: 'state', label: words.status, render: (row) => <LockState {...row} /> },
  {
    name: 'actions',
    label: '',
    isNumber: true,
    render: ({ id }) => (
      <ActionButton
        run={async () => {
          await call(`/operations/limits/lockouts/${id}/clear`, { method: 'POST' });
          await onDone();
        }}
        label={words.unlockLabel(id.slice(0, 12))}
        confirm={{
          title: words.unlockTitle,
          text: words.unlockText,
          action: words.unlock,
        }}
        done={words.unlocked}
      >
        {words.unlock}
      </ActionButton>
    ),
  },
];

/** The accounts with failed sign-ins. */
export function Lockouts({ from }: { from: Load<LockoutList> }) {
  return (
    <Section title={words.title}>
      <Loaded from={from}>
        {({ lockouts, isCut }) =>
          lockouts.length === 0 ? (
            <Nothing title={words.none}>
              <p>{words.noneNote}</p>
            </Nothing>
          ) : (
            <>
              <p class="soft part-text operations-lead">
                {words.lead} {isCut && words.isCut}
              </p>
              <DataTable label={words.title} rows={lockouts} columns={lockColumns(from.reload)} />
            </>
          )
        }
      </Loaded>
    </Section>
  );
}
