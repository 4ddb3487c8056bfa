import {
  ActionButton,
  chosenParams,
  FilterForm,
  hrefOf,
  html,
  Listing,
  Nothing,
  Page,
  SelectFilter,
  Status,
  Time,
  usePages,
  useSearchField,
} from 'belfry/console';
import { accountFacts, accountHref, Chips, PanelValue } from './panel.js';

const FILTERS = ['q', 'role', 'status', 'sort'];

/** The status of an account, and whether its address is verified. */
export function AccountStatus({ account }) {
  const { hasVerification } = accountFacts.value;
  if (!account.isActive) return html`<${Status} kind="bad">Disabled<//>`;
  if (hasVerification && account.emailVerifiedAt === null) return html`<${Status} kind="warn">Unverified<//>`;
  return html`<${Status} kind="good">Active<//>`;
}

function Filters() {
  const search = useSearchField('q');
  const { roles, hasStatus, hasVerification } = accountFacts.value;
  const statuses = [
    ...(hasStatus
      ? [
          ['active', 'Active'],
          ['disabled', 'Disabled'],
        ]
      : []),
    ...(hasVerification ? [['unverified', 'Unverified e-mail']] : []),
  ];
  return html`<${FilterForm} kind="accounts-filters" label="Filter the users" clears=${FILTERS}>
    <label class="accounts-search">Search <input ...${search} maxlength="200" placeholder="E-mail, name or id" /></label>
    ${roles && html`<${SelectFilter} name="role" label="Role" all="All roles" options=${roles.map((role) => [role, role])} />`}
    ${statuses.length > 0 && html`<${SelectFilter} name="status" label="Status" all="All statuses" options=${statuses} />`}
    <${SelectFilter} name="sort" label="Order" all="Newest first" options=${[['oldest', 'Oldest first']]} />
  <//>`;
}

/** The link to the page of a user: their name, and the address below it. */
function UserCell({ account: { id, name, email }, hasName }) {
  return html`<span class="accounts-user">
    <a class="row-link" href=${accountHref(id)} title=${name ?? email}>${name ?? email}</a>
    ${hasName && name !== null && html`<span class="soft" title=${email}>${email}</span>`}
  </span>`;
}

/** The columns of the list: what accounts have in this app, and what panels add. */
function columnsOf({ roles, nameField, hasStatus, hasVerification, summaries }) {
  const columns = [
    {
      name: 'user',
      label: 'User',
      render: (account) => html`<${UserCell} account=${account} hasName=${nameField !== null} />`,
    },
    roles !== null && { name: 'roles', label: 'Roles', render: (account) => html`<${Chips} of=${account.roles} />` },
    (hasStatus || hasVerification) && {
      name: 'status',
      label: 'Status',
      render: (account) => html`<${AccountStatus} account=${account} />`,
    },
    ...summaries.map(({ id, label, kind }) => ({
      name: `summary-${id}`,
      label,
      render: ({ summary }) => html`<${PanelValue} value=${summary[id]} kind=${kind} />`,
    })),
    {
      name: 'created',
      label: 'Created',
      render: ({ createdAt }) => createdAt && html`<${Time} value=${createdAt} />`,
    },
  ];
  return columns.filter(Boolean);
}

function NoUsers({ isFiltered }) {
  if (isFiltered)
    return html`<${Nothing} title="No user matches">
      <p>Change or clear the filters. The search looks for a part of the e-mail address or name, or for a whole id.</p>
    <//>`;
  return html`<${Nothing} title="No users yet">
    <p>Users appear here when they register with <code>POST /api/auth/register</code>, or when you create one:</p>
    <p><code>npx belfry admin create --email you@example.com</code></p>
  <//>`;
}

/** The list of users. */
export function UsersPage() {
  const query = chosenParams(FILTERS);
  const list = usePages(hrefOf('/accounts/users', query));
  return html`<${Page}
    title="Users"
    intro="Everyone with an account. Open a user to see where they are signed in, and to help them."
    actions=${html`<${ActionButton} run=${list.reload}>Refresh<//>`}
  >
    <${Filters} />
    <div class="accounts-table">
      <${Listing} from=${list} label="Users" columns=${columnsOf(accountFacts.value)} empty=${html`<${NoUsers} isFiltered=${query.size > 0} />`} />
    </div>
  <//>`;
}
