import {
  Code,
  DataTable,
  Figure,
  Loaded,
  locale,
  Nothing,
  Page,
  Section,
  Status,
  type TableColumn,
  Time,
} from '../../console/kit.ts';
import { jobsHref, runHref, STATUS_KINDS, STATUSES, useOverview } from './status.tsx';
import { texts } from './texts.ts';
import type { JobStatus, ListedJobs, ListedKind, ScheduleState } from './types.ts';

const { home } = texts;

const SCHEDULE = "createApp({ schedules: [{ cron: '0 2 * * *', job }] })";

const countText = (count: number, isCapped = false) => `${count.toLocaleString(locale)}${isCapped ? '+' : ''}`;

/** The number of all jobs by status, as links to their lists. */
function Totals({ kinds, cappedStatuses }: ListedJobs) {
  return (
    <ul class="figures" aria-label={home.byStatus}>
      {STATUSES.map((status) => {
        const total = kinds.reduce((sum, { counts }) => sum + counts[status], 0);
        const kind = STATUS_KINDS[status];
        return (
          <li key={status}>
            <Figure
              label={texts.states[status]}
              value={countText(total, cappedStatuses.includes(status))}
              href={jobsHref({ status })}
              kind={total > 0 && kind !== 'neutral' ? kind : ''}
            />
          </li>
        );
      })}
    </ul>
  );
}

/** The name of a state within a text. The nouns of German stay as they are. */
const inSentence = (state: string) => state.charAt(0).toLowerCase() + state.slice(1);

/** The counts of a kind that are not zero. */
function Counts({ kind, cappedStatuses }: { kind: ListedKind; cappedStatuses: readonly JobStatus[] }) {
  const { name, counts, scheduled } = kind;
  const shown = STATUSES.filter((status) => counts[status] > 0);
  if (shown.length === 0) return <span class="soft">{home.noneStored}</span>;
  return (
    <span class="jobs-counts">
      {shown.map((status) => (
        <a key={status} class={`status ${STATUS_KINDS[status]}`} href={jobsHref({ job: name, status })}>
          {home.count(countText(counts[status], cappedStatuses.includes(status)), inSentence(texts.states[status]))}
          {status === 'waiting' && scheduled > 0 && ` ${home.planned(countText(scheduled))}`}
        </a>
      ))}
    </span>
  );
}

function Kind({ kind: { name, label, description, isDeclared } }: { kind: ListedKind }) {
  return (
    <>
      <a href={jobsHref({ job: name })} title={name}>
        {label}
      </a>
      {!isDeclared && (
        <>
          {' '}
          <Status kind="bad">{home.notDeclared}</Status>
        </>
      )}
      {description !== null && <span class="jobs-description soft">{description}</span>}
    </>
  );
}

function Kinds({ kinds, cappedStatuses }: ListedJobs) {
  const columns: TableColumn<ListedKind>[] = [
    { name: 'job', label: texts.job, render: (kind) => <Kind kind={kind} /> },
    {
      name: 'counts',
      label: home.stored,
      render: (kind) => <Counts kind={kind} cappedStatuses={cappedStatuses} />,
    },
    {
      name: 'enqueue',
      label: '',
      render: ({ name, label, isDeclared }) =>
        isDeclared && (
          <a class="jobs-enqueue" href={runHref(name)} aria-label={home.runLabel(label)}>
            {home.run}
          </a>
        ),
    },
  ];
  return <DataTable label={home.declared} rows={kinds} keyOf={({ name }) => name} columns={columns} />;
}

const scheduleColumns = (kinds: readonly ListedKind[]): TableColumn<ScheduleState>[] => [
  { name: 'name', label: home.schedule, render: ({ name }) => name },
  {
    name: 'job',
    label: home.runs,
    render: ({ job }) => <a href={jobsHref({ job })}>{kinds.find(({ name }) => name === job)?.label ?? job}</a>,
  },
  {
    name: 'cron',
    label: home.when,
    render: ({ cron, timeZone }) => (
      <>
        <code>{cron}</code> <span class="soft">{timeZone}</span>
      </>
    ),
  },
  {
    name: 'next',
    label: home.next,
    render: ({ nextAt }) => (nextAt === null ? home.never : <Time value={nextAt} />),
  },
  {
    name: 'last',
    label: home.last,
    render: ({ lastAt }) => (lastAt === null ? home.notYet : <Time value={lastAt} />),
  },
];

function Schedules({ kinds, schedules }: ListedJobs) {
  if (schedules.length === 0)
    return (
      <Nothing title={home.noSchedules}>
        <p>{home.noSchedulesText}</p>
        <Code text={SCHEDULE} label={home.scheduleCode} />
      </Nothing>
    );
  return (
    <DataTable label={home.schedules} rows={schedules} keyOf={({ name }) => name} columns={scheduleColumns(kinds)} />
  );
}

/** All declared jobs with the number of stored ones, and the schedules. */
export function OverviewPage() {
  const overview = useOverview();
  return (
    <Page title={texts.jobs} intro={home.intro}>
      <Loaded from={overview}>
        {(data) => (
          <>
            <Totals {...data} />
            <Section title={home.declared}>
              <Kinds {...data} />
            </Section>
            <Section title={home.schedules}>
              <Schedules {...data} />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}
