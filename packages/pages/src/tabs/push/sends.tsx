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
import { numberText } from '../../kit/numbers.ts';
import { PUSH, PUSH_STATUSES, PushState, statusText, titleOf, UserLink } from './outcome.tsx';
import type { PushSummary } from './responses.ts';
import { texts } from './texts.ts';

/** The interval in ms at which the list is read, because results arrive later and from other processes. */
const READ_EVERY_MS = 3000;

const EXAMPLE = `await app.push.send({ to: user.id, title: 'Hello', body: 'Your order is on its way.' });`;

/** The recipients as the sender named them. */
function Audience({ audience: { users, devices, user } }: PushSummary) {
  if (user !== null && devices === 0) return <UserLink id={user} />;
  const parts = [
    users > 0 && texts.sends.users(users, numberText(users)),
    devices > 0 && texts.count(devices, numberText(devices)),
  ];
  return parts.filter(Boolean).join(', ') || <span class="soft">{texts.rawTokens}</span>;
}

function Counts({ status, counts: { devices, accepted, failedLater } }: PushSummary) {
  const failed = status === 'queued' ? 0 : devices - accepted;
  return (
    <span class="push-counts">
      {texts.sends.accepted(numberText(accepted), numberText(devices))}
      {failed > 0 && <span class="bad-text">{texts.sends.failed(numberText(failed))}</span>}
      {failedLater !== null && failedLater > 0 && (
        <span class="bad-text">{texts.sends.failedLater(numberText(failedLater))}</span>
      )}
    </span>
  );
}

const COLUMNS: TableColumn<PushSummary>[] = [
  {
    name: 'title',
    label: texts.sends.message,
    render: (push) => (
      <>
        <a href={`${PUSH}/sends/${push.id}`}>
          <span class="push-title">{titleOf(push)}</span>
        </a>
        {push.title !== null && push.body !== null && <span class="push-body soft">{push.body}</span>}
      </>
    ),
  },
  { name: 'status', label: texts.status, render: ({ status }) => <PushState status={status} /> },
  { name: 'audience', label: texts.sends.to, render: (push) => <Audience {...push} /> },
  { name: 'accepted', label: texts.sends.acceptedColumn, render: (push) => <Counts {...push} /> },
  { name: 'opened', label: texts.sends.opened, isNumber: true, render: ({ counts }) => counts.opened ?? '–' },
  { name: 'at', label: texts.sends.sent, render: ({ createdAt }) => <Time value={createdAt} /> },
];

const STATUS_OPTIONS = PUSH_STATUSES.map((status) => [status, statusText(status)] as const);

function NoSends({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Nothing title={texts.sends.noMatch}>
        <p>{texts.sends.noMatchText}</p>
      </Nothing>
    );
  return (
    <Nothing title={texts.sends.none}>
      <p>{texts.sends.noneText}</p>
      <Code text={EXAMPLE} label={texts.sends.example} />
    </Nothing>
  );
}

/** The newest pushes. The status and the page are in the address. */
export function SendsPage() {
  const query = chosenParams(['status', 'after']);
  const list = useLoaded<PushSummary[]>(hrefOf('/push/sends', query), { everyMs: READ_EVERY_MS });
  return (
    <Page title={texts.sends.title} intro={texts.sends.intro}>
      <FilterForm kind="push-filters" label={texts.sends.filter}>
        <SelectFilter name="status" label={texts.status} all={texts.sends.allStatuses} options={STATUS_OPTIONS} />
      </FilterForm>
      <Listing
        from={list}
        label={texts.sends.title}
        columns={COLUMNS}
        empty={<NoSends isFiltered={query.size > 0} />}
      />
    </Page>
  );
}
