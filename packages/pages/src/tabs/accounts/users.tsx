import {
  ActionButton,
  chosenParams,
  FilterForm,
  hrefOf,
  Listing,
  Nothing,
  Page,
  SelectFilter,
  Status,
  type TableColumn,
  Time,
  usePages,
  useSearchField,
} from '../../console/kit.ts';
import type { AccountFacts, AccountItem } from './types.ts';
import { accountFacts, accountHref, Chips, ShownValue } from './values.tsx';

const FILTERS = ['q', 'role', 'status', 'sort'];

/** The status of an account, and whether its address is verified. */
export function AccountStatus({ account }: { account: Pick<AccountItem, 'isActive' | 'emailVerifiedAt'> }) {
  const { hasVerification } = accountFacts.value;
  if (!account.isActive) return <Status kind="bad">Disabled</Status>;
  if (hasVerification && account.emailVerifiedAt === null) return <Status kind="warn">Unverified</Status>;
  return <Status kind="good">Active</Status>;
}

function Filters() {
  const search = useSearchField('q');
  const { roles, hasStatus, hasVerification } = accountFacts.value;
  const statuses: [string, string][] = [
    ['active', 'Active'],
    ['disabled', 'Disabled'],
    ['unverified', 'Unverified e-mail'],
  ];
  const offered = statuses.filter(([status]) => (status === 'unverified' ? hasVerification : hasStatus));
  return (
    <FilterForm kind="accounts-filters" label="Filter the users" clears={FILTERS}>
      <label class="accounts-search">
        Search <input {...search} maxlength={200} placeholder="E-mail, name or id" />
      </label>
      {roles && <SelectFilter name="role" label="Role" all="All roles" options={roles.map((role) => [role, role])} />}
      {offered.length > 0 && <SelectFilter name="status" label="Status" all="All statuses" options={offered} />}
      <SelectFilter name="sort" label="Order" all="Newest first" options={[['oldest', 'Oldest first']]} />
    </FilterForm>
  );
}

/** The link to the page of a user: their name, and the address below it. */
function UserCell({ account: { id, name, email } }: { account: AccountItem }) {
  return (
    <span class="accounts-user">
      <a class="row-link" href={accountHref(id)} title={name ?? email}>
        {name ?? email}
      </a>
      {name !== null && (
        <span class="soft" title={email}>
          {email}
        </span>
      )}
    </span>
  );
}

/** The columns of the list: what accounts have in this app, and what panels add. */
function columnsOf({ roles, hasStatus, hasVerification, summaries }: AccountFacts): TableColumn<AccountItem>[] {
  const columns: (TableColumn<AccountItem> | false)[] = [
    { name: 'user', label: 'User', render: (account) => <UserCell account={account} /> },
    roles !== null && { name: 'roles', label: 'Roles', render: (account) => <Chips of={account.roles ?? []} /> },
    (hasStatus || hasVerification) && {
      name: 'status',
      label: 'Status',
      render: (account) => <AccountStatus account={account} />,
    },
    ...summaries.map(
      ({ id, label, kind }): TableColumn<AccountItem> => ({
        name: `summary-${id}`,
        label,
        render: ({ summary }) => <ShownValue value={summary[id]} kind={kind} />,
      }),
    ),
    { name: 'created', label: 'Created', render: ({ createdAt }) => createdAt && <Time value={createdAt} /> },
  ];
  return columns.filter((column) => column !== false);
}

function NoUsers({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Nothing title="No user matches">
        <p>
          Change or clear the filters. The search looks for a part of the e-mail address or name, or for a whole id.
        </p>
      </Nothing>
    );
  return (
    <Nothing title="No users yet">
      <p>
        Users appear here when they register with <code>POST /api/auth/register</code>, or when you create one:
      </p>
      <p>
        <code>npx belfry admin create --email you@example.com</code>
      </p>
    </Nothing>
  );
}

/** The list of users. */
export function UsersPage() {
  const query = chosenParams(FILTERS);
  const list = usePages<AccountItem>(hrefOf('/accounts/users', query));
  return (
    <Page
      title="Users"
      intro="Everyone with an account. Open a user to see where they are signed in, and to help them."
      actions={<ActionButton run={list.reload}>Refresh</ActionButton>}
    >
      <Filters />
      <div class="accounts-table">
        <Listing
          from={list}
          label="Users"
          columns={columnsOf(accountFacts.value)}
          empty={<NoUsers isFiltered={query.size > 0} />}
        />
      </div>
    </Page>
  );
}
