import {
  Code,
  chosenParams,
  FilterForm,
  hrefOf,
  Listing,
  Nothing,
  Page,
  SelectFilter,
  type TableColumn,
  Time,
  useLoaded,
} from '../../console/kit.ts';
import { PUSH, PUSH_STATUSES, PushState, statusText, titleOf, UserLink } from './outcome.tsx';
import type { ListedPush } from './responses.ts';

/** The interval in ms at which the list is read, because results arrive later and from other processes. */
const READ_EVERY_MS = 3000;

const EXAMPLE = `await app.push.send({ to: user.id, title: 'Hello', body: 'Your order is on its way.' });`;

/** The recipients as the sender named them. */
function Audience({ audience: { users, devices, user } }: ListedPush) {
  if (user !== null && devices === 0) return <UserLink id={user} />;
  const parts = [users > 0 && `${users} users`, devices > 0 && `${devices} ${devices === 1 ? 'device' : 'devices'}`];
  return parts.filter(Boolean).join(', ') || <span class="soft">raw tokens</span>;
}

function Counts({ status, counts: { devices, accepted, failedLater } }: ListedPush) {
  const failed = status === 'queued' ? 0 : devices - accepted;
  return (
    <span class="push-counts">
      {accepted} of {devices}
      {failed > 0 && <span class="bad-text">{failed} failed</span>}
      {failedLater !== null && failedLater > 0 && <span class="bad-text">{failedLater} failed later</span>}
    </span>
  );
}

const COLUMNS: TableColumn<ListedPush>[] = [
  {
    name: 'title',
    label: 'Message',
    render: (push) => (
      <>
        <a href={`${PUSH}/sends/${push.id}`}>
          <span class="push-title">{titleOf(push)}</span>
        </a>
        {push.title !== null && push.body !== null && <span class="push-body soft">{push.body}</span>}
      </>
    ),
  },
  { name: 'status', label: 'Status', render: ({ status }) => <PushState status={status} /> },
  { name: 'audience', label: 'To', render: (push) => <Audience {...push} /> },
  { name: 'accepted', label: 'Accepted', render: (push) => <Counts {...push} /> },
  { name: 'opened', label: 'Opened', isNumber: true, render: ({ counts }) => counts.opened ?? '–' },
  { name: 'at', label: 'Sent', render: ({ createdAt }) => <Time value={createdAt} /> },
];

const STATUS_OPTIONS = PUSH_STATUSES.map((status) => [status, statusText(status)] as const);

function NoSends({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Nothing title="No push with this status">
        <p>Choose another status.</p>
      </Nothing>
    );
  return (
    <Nothing title="Nothing has been sent yet">
      <p>
        Pushes appear here with the result of each device. Send one with your code, or to a device of the section
        “Devices”:
      </p>
      <Code text={EXAMPLE} label="A push message" />
    </Nothing>
  );
}

/** The newest pushes. The status and the page are in the address. */
export function SendsPage() {
  const query = chosenParams(['status', 'after']);
  const list = useLoaded<ListedPush[]>(hrefOf('/push/sends', query), { everyMs: READ_EVERY_MS });
  return (
    <Page title="Sends" intro="Push messages, newest first. They are kept for 30 days.">
      <FilterForm kind="push-filters" label="Filter the sends">
        <SelectFilter name="status" label="Status" all="All statuses" options={STATUS_OPTIONS} />
      </FilterForm>
      <Listing from={list} label="Sends" columns={COLUMNS} empty={<NoSends isFiltered={query.size > 0} />} />
    </Page>
  );
}
