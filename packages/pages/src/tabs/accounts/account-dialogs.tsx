import { useState } from 'preact/hooks';
import { ActionDialog, ChoicesField, type CloseDialog, EmailField, ErrorText } from './dialog.tsx';
import { texts } from './texts.ts';
import type { Account } from './types.ts';
import { accountFacts } from './values.tsx';

/** The path of the routes of an account. */
export const pathOf = (id: string) => `/accounts/users/${encodeURIComponent(id)}`;

/** A dialog with all roles. */
export function RolesDialog({ account, close }: { account: Account; close: CloseDialog }) {
  const { id, isSelf } = account;
  const current = account.roles ?? [];
  const [chosen, setChosen] = useState(current);
  const losesAdmin = current.includes('admin') && !chosen.includes('admin');
  return (
    <ActionDialog
      title={texts.rolesDialog.title(account.name ?? account.email)}
      submit={texts.rolesDialog.submit}
      path={`${pathOf(id)}/roles`}
      body={{ from: current, to: chosen }}
      done={texts.rolesDialog.done}
      close={close}
    >
      {(error) => (
        <>
          <p class="soft">{isSelf ? texts.rolesDialog.self : texts.rolesDialog.text}</p>
          <ChoicesField
            legend={<legend class="visually-hidden">{texts.roles}</legend>}
            choices={accountFacts.value.roles ?? []}
            value={chosen}
            isFixed={(role) => isSelf && current.includes(role)}
            onChange={setChosen}
          />
          {losesAdmin && <p class="banner warn">{texts.rolesDialog.losesAdmin}</p>}
          <ErrorText text={error?.details.to ?? error?.message} />
        </>
      )}
    </ActionDialog>
  );
}

/** A dialog with the e-mail address. */
export function EmailDialog({ account, close }: { account: Account; close: CloseDialog }) {
  const [email, setEmail] = useState(account.email);
  return (
    <ActionDialog
      title={texts.emailDialog.title(account.name ?? account.email)}
      submit={texts.emailDialog.submit}
      path={`${pathOf(account.id)}/email`}
      body={{ email }}
      done={texts.emailDialog.done}
      close={close}
    >
      {(error) => (
        <>
          <p class="soft">
            {texts.emailDialog.text}
            {accountFacts.value.hasVerification && ` ${texts.emailDialog.notVerified}`}
          </p>
          <EmailField
            name="email"
            label={texts.emailDialog.label}
            value={email}
            error={error?.details.email ?? error?.message}
            onChange={setEmail}
          />
        </>
      )}
    </ActionDialog>
  );
}
