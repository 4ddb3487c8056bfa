import {
  ActionButton,
  dataHref,
  Facts,
  Loaded,
  openDialog,
  Page,
  Section,
  showToast,
  Time,
  useLoaded,
  userResource,
} from '../../console/kit.ts';
import { EmailDialog, pathOf, RolesDialog } from './account-dialogs.tsx';
import { sendAction } from './dialog.tsx';
import { Panel } from './panel.tsx';
import type { Account } from './types.ts';
import { AccountStatus } from './users.tsx';
import { ACCOUNTS, accountFacts, Chips } from './values.tsx';

interface AccountProps {
  account: Account;
  onDone: () => Promise<void>;
}

/** The button that disables or enables the account. */
function StatusButton({ account, onDone }: AccountProps) {
  const { id, isActive, isSelf } = account;
  const send = (action: string, done: string) => async () => {
    try {
      if (await sendAction(`${pathOf(id)}/${action}`, {})) showToast(done);
    } finally {
      await onDone();
    }
  };
  if (!isActive)
    return (
      <ActionButton
        run={send('enable', 'The account is enabled')}
        confirm={{
          title: 'Enable this account?',
          text: 'The user can sign in again, and their API keys and webhooks work again.',
          action: 'Enable',
        }}
      >
        Enable
      </ActionButton>
    );
  return (
    <ActionButton
      kind="danger quiet"
      disabled={isSelf}
      run={send('disable', 'The account is disabled')}
      confirm={{
        title: 'Disable this account?',
        text: 'All sessions end at once. The user cannot sign in, and their API keys and webhooks are refused until you enable the account again. No data is deleted.',
        action: 'Disable',
        isDangerous: true,
      }}
    >
      Disable
    </ActionButton>
  );
}

function Overview({ account, onDone }: AccountProps) {
  const { hasVerification } = accountFacts.value;
  const { id, email, roles, emailVerifiedAt, createdAt, isSelf } = account;
  const changeRoles = async () => {
    await openDialog<boolean>(({ close }) => <RolesDialog account={account} close={close} />);
    await onDone();
  };
  const changeAddress = async () => {
    await openDialog<boolean>(({ close }) => <EmailDialog account={account} close={close} />);
    await onDone();
  };
  const verified = emailVerifiedAt === null ? 'Not verified' : <Time value={emailVerifiedAt} />;
  return (
    <Section
      title="Account"
      actions={
        <>
          {!isSelf && <ActionButton run={changeAddress}>Change e-mail…</ActionButton>}
          {roles !== null && <ActionButton run={changeRoles}>Change roles…</ActionButton>}
        </>
      }
    >
      <div class="card accounts-facts">
        <Facts
          of={[
            ['E-mail', email],
            ['Roles', roles && <Chips of={roles} />],
            ['Status', <AccountStatus account={account} />],
            ['E-mail verified', hasVerification ? verified : undefined],
            ['Created', createdAt && <Time value={createdAt} />],
            ['Id', <code>{id}</code>],
          ]}
        />
      </div>
    </Section>
  );
}

/** The page of a user: what features know about the account, and what administrators can do. */
export function AccountPage({ id }: { id: string }) {
  const loaded = useLoaded<Account>(pathOf(id));
  const { data: account, reload } = loaded;
  const recordHref = dataHref([userResource()?.name ?? 'user', id]);
  return (
    <Page
      title={account === undefined ? 'User' : (account.name ?? account.email)}
      intro={account?.isSelf ? 'This is your own account. Only another administrator can disable it.' : undefined}
      back={{ href: ACCOUNTS, label: 'Users' }}
      actions={
        account && (
          <>
            <ActionButton run={reload}>Refresh</ActionButton>
            <a class="button" href={recordHref}>
              Open the record
            </a>
            {accountFacts.value.hasStatus && <StatusButton account={account} onDone={reload} />}
          </>
        )
      }
    >
      <Loaded from={loaded}>
        {(shown) => (
          <>
            <Overview account={shown} onDone={reload} />
            {shown.panels.map((panel) => (
              <Panel key={panel.id} panel={panel} userId={id} onDone={reload} />
            ))}
            <p class="soft accounts-note">
              To delete the account, or to change other fields, <a href={recordHref}>open the record</a>.
            </p>
          </>
        )}
      </Loaded>
    </Page>
  );
}
