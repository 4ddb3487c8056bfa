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
import type { LockoutEntry, LockoutList } from './types.ts';

/** Whether an account is locked. */
export function LockState({ lockedUntil }: Pick<LockoutEntry, 'lockedUntil'>) {
  return lockedUntil === null ? (
    <Status kind="neutral">not locked</Status>
  ) : (
    <Status kind="bad">
      locked, ends <Time value={lockedUntil} />
    </Status>
  );
}

const lockColumns = (onDone: () => Promise<void>): TableColumn<LockoutEntry>[] => [
  {
    name: 'id',
    label: 'Hash of the account',
    render: ({ id }) => <code title={id}>{id.slice(0, 12)}…</code>,
  },
  {
    name: 'failures',
    label: 'Failed sign-ins',
    isNumber: true,
    render: ({ failures, lockedUntil }) => (lockedUntil !== null && failures === 0 ? '–' : numberText(failures)),
  },
  { name: 'state', label: 'Status', render: (row) => <LockState {...row} /> },
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
        label={`Unlock ${id.slice(0, 12)}`}
        confirm={{
          title: 'Unlock this account?',
          text: 'Its failed sign-ins are cleared, so it can sign in again at once. An attacker who guesses its password can continue, too.',
          action: 'Unlock',
        }}
        done="The account can sign in again"
      >
        Unlock
      </ActionButton>
    ),
  },
];

/** The accounts with failed sign-ins. */
export function Lockouts({ from }: { from: Load<LockoutList> }) {
  return (
    <Section title="Failed sign-ins">
      <Loaded from={from}>
        {({ lockouts, isCut }) =>
          lockouts.length === 0 ? (
            <Nothing title="No failed sign-in">
              <p>
                Wrong passwords and codes are counted for each account, and lock it after too many. Redis has only
                hashes of the accounts: search for an e-mail address to see its state.
              </p>
            </Nothing>
          ) : (
            <>
              <p class="soft part-text operations-lead">
                Redis has only hashes of the accounts. Search for an e-mail address or a user above to see which one it
                is.{isCut && ' There are more than are shown.'}
              </p>
              <DataTable label="Failed sign-ins" rows={lockouts} columns={lockColumns(from.reload)} />
            </>
          )
        }
      </Loaded>
    </Section>
  );
}
