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
import { richText } from '../../kit/rich-text.ts';
import { texts } from './texts.ts';
import type { AccountFacts, AccountItem } from './types.ts';
import { accountFacts, accountHref, Chips, ShownValue } from './values.tsx';

const FILTERS = ['q', 'role', 'status', 'sort'];

/** The status of an account, and whether its address is verified. */
export function AccountStatus({ account }: { account: Pick<AccountItem, 'isActive' | 'emailVerifiedAt'> }) {
  const { hasVerification } = accountFacts.value;
  if (!account.isActive) return <Status kind="bad">{texts.states.disabled}</Status>;
  if (hasVerification && account.emailVerifiedAt === null)
    return <Status kind="warn">{texts.states.unverified}</Status>;
  return <Status kind="good">{texts.states.active}</Status>;
}

function Filters() {
  const search = useSearchField('q');
  const { roles, hasStatus, hasVerification } = accountFacts.value;
  const statuses: [string, string][] = [
    ['active', texts.states.active],
    ['disabled', texts.states.disabled],
    ['unverified', texts.list.unverified],
  ];
  const offered = statuses.filter(([status]) => (status === 'unverified' ? hasVerification : hasStatus));
  return (
    <FilterForm kind="accounts-filters" label={texts.list.filter} clears={FILTERS}>
      <label class="accounts-search">
        {texts.list.search} <input {...search} maxlength={200} placeholder={texts.list.searchHint} />
      </label>
      {roles && (
        <SelectFilter
          name="role"
          label={texts.list.role}
          all={texts.list.allRoles}
          options={roles.map((role) => [role, role])}
        />
      )}
      {offered.length > 0 && (
        <SelectFilter name="status" label={texts.status} all={texts.list.allStatuses} options={offered} />
      )}
      <SelectFilter
        name="sort"
        label={texts.list.order}
        all={texts.list.newest}
        options={[['oldest', texts.list.oldest]]}
      />
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
    { name: 'user', label: texts.user, render: (account) => <UserCell account={account} /> },
    roles !== null && { name: 'roles', label: texts.roles, render: (account) => <Chips of={account.roles ?? []} /> },
    (hasStatus || hasVerification) && {
      name: 'status',
      label: texts.status,
      render: (account) => <AccountStatus account={account} />,
    },
    ...summaries.map(
      ({ id, label, kind }): TableColumn<AccountItem> => ({
        name: `summary-${id}`,
        label: label,
        render: ({ summary }) => <ShownValue value={summary[id]} kind={kind} />,
      }),
    ),
    { name: 'created', label: texts.created, render: ({ createdAt }) => createdAt && <Time value={createdAt} /> },
  ];
  return columns.filter((column) => column !== false);
}

function NoUsers({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Nothing title={texts.list.noMatch}>
        <p>{texts.list.noMatchText}</p>
      </Nothing>
    );
  return (
    <Nothing title={texts.list.none}>
      <p>{richText(texts.list.noneText, { route: <code>POST /api/auth/register</code> })}</p>
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
      title={texts.users}
      intro={texts.list.intro}
      actions={<ActionButton run={list.reload}>{texts.refresh}</ActionButton>}
    >
      <Filters />
      <div class="accounts-table">
        <Listing
          from={list}
          label={texts.users}
          columns={columnsOf(accountFacts.value)}
          empty={<NoUsers isFiltered={query.size > 0} />}
        />
      </div>
    </Page>
  );
}
