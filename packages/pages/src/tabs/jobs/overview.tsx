import {
  DataTable,
  Figure,
  hrefOf,
  Loaded,
  Nothing,
  Page,
  Section,
  Status,
  sentenceCase,
  type TableColumn,
  Time,
} from '../../console/kit.ts';
import { JOBS, jobsHref, STATUS_KINDS, useOverview } from './status.tsx';
import { type JobKind, type JobOverview, type JobStatus, type Schedule, STATUSES } from './types.ts';

const countText = (count: number, isCapped = false) => `${count.toLocaleString()}${isCapped ? '+' : ''}`;

/** The number of all jobs by status, as links to their lists. */
function Totals({ kinds, cappedStatuses }: JobOverview) {
  return (
    <ul class="figures" aria-label="Jobs by status">
      {STATUSES.map((status) => {
        const total = kinds.reduce((sum, { counts }) => sum + counts[status], 0);
        const kind = STATUS_KINDS[status];
        return (
          <li key={status}>
            <Figure
              label={sentenceCase(status)}
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

/** The counts of a kind that are not zero. */
function Counts({ kind, cappedStatuses }: { kind: JobKind; cappedStatuses: JobStatus[] }) {
  const { name, counts, scheduled } = kind;
  const shown = STATUSES.filter((status) => counts[status] > 0);
  if (shown.length === 0) return <span class="soft">No jobs stored</span>;
  return (
    <span class="jobs-counts">
      {shown.map((status) => (
        <a key={status} class={`status ${STATUS_KINDS[status]}`} href={jobsHref({ job: name, status })}>
          {countText(counts[status], cappedStatuses.includes(status))} {status}
          {status === 'waiting' && scheduled > 0 && ` (${countText(scheduled)} scheduled)`}
        </a>
      ))}
    </span>
  );
}

function Kind({ kind: { name, description, isDeclared } }: { kind: JobKind }) {
  return (
    <>
      <a href={jobsHref({ job: name })}>{name}</a>
      {!isDeclared && (
        <>
          {' '}
          <Status kind="bad">not declared: its jobs wait</Status>
        </>
      )}
      {description !== null && <span class="jobs-description soft">{description}</span>}
    </>
  );
}

function Kinds({ kinds, cappedStatuses }: JobOverview) {
  const columns: TableColumn<JobKind>[] = [
    { name: 'job', label: 'Job', render: (kind) => <Kind kind={kind} /> },
    {
      name: 'counts',
      label: 'Stored jobs',
      render: (kind) => <Counts kind={kind} cappedStatuses={cappedStatuses} />,
    },
    {
      name: 'enqueue',
      label: '',
      render: ({ name, isDeclared }) =>
        isDeclared && (
          <a
            class="jobs-enqueue"
            href={hrefOf(`${JOBS}/enqueue`, new URLSearchParams({ job: name }))}
            aria-label={`Enqueue ${name}`}
          >
            Enqueue…
          </a>
        ),
    },
  ];
  return <DataTable label="Declared jobs" rows={kinds} keyOf={({ name }) => name} columns={columns} />;
}

const SCHEDULE_COLUMNS: TableColumn<Schedule>[] = [
  { name: 'name', label: 'Schedule', render: ({ name }) => name },
  { name: 'job', label: 'Enqueues', render: ({ job }) => <a href={jobsHref({ job })}>{job}</a> },
  {
    name: 'cron',
    label: 'When',
    render: ({ cron, timeZone }) => (
      <>
        <code>{cron}</code> <span class="soft">{timeZone}</span>
      </>
    ),
  },
  {
    name: 'next',
    label: 'Next',
    render: ({ nextAt }) => (nextAt === null ? 'none' : <Time value={nextAt} />),
  },
  {
    name: 'last',
    label: 'Last',
    render: ({ lastAt }) => (lastAt === null ? 'none yet' : <Time value={lastAt} />),
  },
];

function Schedules({ schedules }: JobOverview) {
  if (schedules.length === 0)
    return (
      <Nothing title="The app declares no schedules">
        <p>
          A schedule enqueues a job at fixed times: add <code>{"schedules: [{ cron: '0 2 * * *', job }]"}</code> to{' '}
          <code>createApp</code>.
        </p>
      </Nothing>
    );
  return <DataTable label="Schedules" rows={schedules} keyOf={({ name }) => name} columns={SCHEDULE_COLUMNS} />;
}

/** All declared jobs with the number of stored ones, and the schedules. */
export function OverviewPage() {
  const overview = useOverview();
  return (
    <Page
      title="Jobs"
      intro="Work outside of requests. A job that fails is retried; finished jobs are kept for a while."
    >
      <Loaded from={overview}>
        {(data) => (
          <>
            <Totals {...data} />
            <Section title="Declared jobs">
              <Kinds {...data} />
            </Section>
            <Section title="Schedules">
              <Schedules {...data} />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}
