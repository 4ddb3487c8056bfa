import { useState } from 'preact/hooks';
import { ActionDialog, ChoicesField, type CloseDialog, EmailField, ErrorText } from './dialog.tsx';
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
      title={`Roles of ${account.name ?? account.email}`}
      submit="Save roles"
      path={`${pathOf(id)}/roles`}
      body={{ from: current, to: chosen }}
      done="The roles are changed"
      close={close}
    >
      {(error) => (
        <>
          <p class="soft">
            {isSelf
              ? 'This is your own account: you can add roles, but only another administrator can take them away.'
              : 'The change applies to the next request of the user.'}
          </p>
          <ChoicesField
            legend={<legend class="visually-hidden">Roles</legend>}
            choices={accountFacts.value.roles ?? []}
            value={chosen}
            isFixed={(role) => isSelf && current.includes(role)}
            onChange={setChosen}
          />
          {losesAdmin && (
            <p class="banner warn">The user loses access to everything that only administrators can do, at once.</p>
          )}
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
      title={`E-mail address of ${account.name ?? account.email}`}
      submit="Change the address"
      path={`${pathOf(account.id)}/email`}
      body={{ email }}
      done="The e-mail address is changed"
      close={close}
    >
      {(error) => (
        <>
          <p class="soft">
            The user is signed out everywhere, and the former address gets an e-mail. API keys keep working.
            {accountFacts.value.hasVerification && ' The new address counts as not verified.'}
          </p>
          <EmailField
            name="email"
            label="E-mail address"
            value={email}
            error={error?.details.email ?? error?.message}
            onChange={setEmail}
          />
        </>
      )}
    </ActionDialog>
  );
}
