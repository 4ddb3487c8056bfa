import {
  ActionButton,
  Dialog,
  dataHref,
  Facts,
  html,
  Loaded,
  openDialog,
  Page,
  Section,
  showToast,
  Time,
  useLoaded,
  userResource,
} from 'belfry/console';
import { useState } from 'preact/hooks';
import { ACCOUNTS, accountFacts, Chips, Panel, sendAction } from './panel.js';
import { AccountStatus } from './users.js';

const pathOf = (id) => `/accounts/users/${encodeURIComponent(id)}`;

/** A dialog with all roles. @param {{ account: any, close: (isChanged: boolean) => void }} props */
function RolesDialog({ account, close }) {
  const { roles: all } = accountFacts.value;
  const [chosen, setChosen] = useState(account.roles);
  const [error, setError] = useState();
  const [isSaving, setSaving] = useState(false);
  const lost = account.roles.filter((role) => !chosen.includes(role));
  const toggle = (role) => setChosen(chosen.includes(role) ? chosen.filter((one) => one !== role) : [...chosen, role]);
  const save = async (event) => {
    event.preventDefault();
    setSaving(true);
    try {
      if (!(await sendAction(`${pathOf(account.id)}/roles`, { from: account.roles, to: chosen })))
        return setSaving(false);
      showToast('The roles are changed');
      close(true);
    } catch (failed) {
      setError(failed.details?.to ?? failed.message);
      setSaving(false);
    }
  };
  return html`<${Dialog} title=${`Roles of ${account.name ?? account.email}`} onClose=${() => close(false)}>
    <form class="stack" onSubmit=${save}>
      <p class="soft">${
        account.isSelf
          ? 'This is your own account: you can add roles, but only another administrator can take them away.'
          : 'The change applies to the next request of the user.'
      }</p>
      <fieldset class="accounts-choices">
        <legend class="visually-hidden">Roles</legend>
        ${all.map(
          (role) => html`<label key=${role} class="check">
            <input
              type="checkbox"
              checked=${chosen.includes(role)}
              disabled=${account.isSelf && account.roles.includes(role)}
              onChange=${() => toggle(role)}
            />${role}
          </label>`,
        )}
      </fieldset>
      ${lost.includes('admin') && html`<p class="banner warn">The user loses access to everything that only administrators can do, at once.</p>`}
      ${error && html`<p class="field-error" role="alert">${error}</p>`}
      <footer>
        <button type="button" onClick=${() => close(false)}>Cancel</button>
        <button type="submit" class="primary" disabled=${isSaving}>Save roles</button>
      </footer>
    </form>
  <//>`;
}

/** A dialog with the e-mail address. @param {{ account: any, close: (isChanged: boolean) => void }} props */
function EmailDialog({ account, close }) {
  const [email, setEmail] = useState(account.email);
  const [error, setError] = useState();
  const [isSaving, setSaving] = useState(false);
  const save = async (event) => {
    event.preventDefault();
    setSaving(true);
    try {
      if (!(await sendAction(`${pathOf(account.id)}/email`, { email }))) return setSaving(false);
      showToast('The e-mail address is changed');
      close(true);
    } catch (failed) {
      setError(failed.details?.email ?? failed.message);
      setSaving(false);
    }
  };
  return html`<${Dialog} title=${`E-mail address of ${account.name ?? account.email}`} onClose=${() => close(false)}>
    <form class="stack" onSubmit=${save}>
      <p class="soft">
        The user is signed out everywhere, and the former address gets an e-mail. API keys keep working.
        ${accountFacts.value.hasVerification && ' The new address counts as not verified.'}
      </p>
      <label>
        E-mail address
        <input
          type="email"
          autocomplete="off"
          required
          value=${email}
          aria-invalid=${error ? 'true' : undefined}
          aria-describedby=${error ? 'accounts-email-error' : undefined}
          onInput=${(event) => setEmail(event.target.value)}
        />
      </label>
      ${error && html`<p id="accounts-email-error" class="field-error" role="alert">${error}</p>`}
      <footer>
        <button type="button" onClick=${() => close(false)}>Cancel</button>
        <button type="submit" class="primary" disabled=${isSaving}>Change the address</button>
      </footer>
    </form>
  <//>`;
}

/** The button that disables or enables the account. */
function StatusButton({ account, onDone }) {
  const { id, isActive, isSelf } = account;
  const send = (action, done) => async () => {
    try {
      if (await sendAction(`${pathOf(id)}/${action}`, {})) showToast(done);
    } finally {
      await onDone();
    }
  };
  if (!isActive)
    return html`<${ActionButton}
      run=${send('enable', 'The account is enabled')}
      confirm=${{ title: 'Enable this account?', text: 'The user can sign in again, and their API keys and webhooks work again.', action: 'Enable' }}
    >Enable<//>`;
  return html`<${ActionButton}
    kind="danger quiet"
    disabled=${isSelf}
    run=${send('disable', 'The account is disabled')}
    confirm=${{
      title: 'Disable this account?',
      text: 'All sessions end at once. The user cannot sign in, and their API keys and webhooks are refused until you enable the account again. No data is deleted.',
      action: 'Disable',
      isDangerous: true,
    }}
  >Disable<//>`;
}

function Overview({ account, onDone }) {
  const { hasVerification } = accountFacts.value;
  const { id, email, roles, emailVerifiedAt, createdAt, isSelf } = account;
  const changeRoles = async () => {
    await openDialog(({ close }) => html`<${RolesDialog} account=${account} close=${close} />`);
    await onDone();
  };
  const changeAddress = async () => {
    await openDialog(({ close }) => html`<${EmailDialog} account=${account} close=${close} />`);
    await onDone();
  };
  const verified = emailVerifiedAt === null ? 'Not verified' : html`<${Time} value=${emailVerifiedAt} />`;
  return html`<${Section}
    title="Account"
    actions=${[
      !isSelf && html`<${ActionButton} run=${changeAddress}>Change e-mail…<//>`,
      roles !== null && html`<${ActionButton} run=${changeRoles}>Change roles…<//>`,
    ]}
  >
    <div class="card accounts-facts">
      <${Facts}
        of=${[
          ['E-mail', email],
          ['Roles', roles && html`<${Chips} of=${roles} />`],
          ['Status', html`<${AccountStatus} account=${account} />`],
          ['E-mail verified', hasVerification ? verified : undefined],
          ['Created', createdAt && html`<${Time} value=${createdAt} />`],
          ['Id', html`<code>${id}</code>`],
        ]}
      />
    </div>
  <//>`;
}

/** The page of a user: what features know about the account, and what administrators can do. */
export function AccountPage({ id }) {
  const loaded = useLoaded(pathOf(id));
  const account = loaded.data;
  const { hasStatus } = accountFacts.value;
  const actions = account && [
    html`<${ActionButton} run=${loaded.reload}>Refresh<//>`,
    html`<a class="button" href=${dataHref([userResource().name, id])}>Open the record</a>`,
    hasStatus && html`<${StatusButton} account=${account} onDone=${loaded.reload} />`,
  ];
  return html`<${Page}
    title=${account === undefined ? 'User' : (account.name ?? account.email)}
    intro=${account?.isSelf ? 'This is your own account. Only another administrator can disable it.' : undefined}
    back=${{ href: ACCOUNTS, label: 'Users' }}
    actions=${actions}
  >
    <${Loaded} from=${loaded}>
      ${() => html`
        <${Overview} account=${account} onDone=${loaded.reload} />
        ${account.panels.map(
          (panel) => html`<${Panel} key=${panel.id} panel=${panel} userId=${id} onDone=${loaded.reload} />`,
        )}
        <p class="soft accounts-note">
          To delete the account, or to change other fields, <a href=${dataHref([userResource().name, id])}>open the record</a>.
        </p>
      `}
    <//>
  <//>`;
}
