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
import { richText } from '../../kit/rich-text.ts';
import { EmailDialog, pathOf, RolesDialog } from './account-dialogs.tsx';
import { sendAction } from './dialog.tsx';
import { Panel } from './panel.tsx';
import { texts } from './texts.ts';
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
        run={send('enable', texts.account.enabled)}
        confirm={{
          title: texts.account.enableQuestion,
          text: texts.account.enableText,
          action: texts.account.enable,
        }}
      >
        {texts.account.enable}
      </ActionButton>
    );
  return (
    <ActionButton
      kind="danger quiet"
      disabled={isSelf}
      run={send('disable', texts.account.disabled)}
      confirm={{
        title: texts.account.disableQuestion,
        text: texts.account.disableText,
        action: texts.account.disable,
        isDangerous: true,
      }}
    >
      {texts.account.disable}
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
  const verified = emailVerifiedAt === null ? texts.account.notVerified : <Time value={emailVerifiedAt} />;
  return (
    <Section
      title={texts.account.heading}
      actions={
        <>
          {!isSelf && <ActionButton run={changeAddress}>{texts.account.changeEmail}</ActionButton>}
          {roles !== null && <ActionButton run={changeRoles}>{texts.account.changeRoles}</ActionButton>}
        </>
      }
    >
      <div class="card accounts-facts">
        <Facts
          of={[
            [texts.account.email, email],
            [texts.roles, roles && <Chips of={roles} />],
            [texts.status, <AccountStatus account={account} />],
            [texts.account.verified, hasVerification ? verified : undefined],
            [texts.created, createdAt && <Time value={createdAt} />],
            [texts.account.id, <code>{id}</code>],
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
      title={account === undefined ? texts.user : (account.name ?? account.email)}
      intro={account?.isSelf ? texts.account.self : undefined}
      back={{ href: ACCOUNTS, label: texts.users }}
      actions={
        account && (
          <>
            <ActionButton run={reload}>{texts.refresh}</ActionButton>
            <a class="button" href={recordHref}>
              {texts.account.openRecord}
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
              {richText(texts.account.note, { link: <a href={recordHref}>{texts.account.noteLink}</a> })}
            </p>
          </>
        )}
      </Loaded>
    </Page>
  );
}
