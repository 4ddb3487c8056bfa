import {
  durationText,
  FilterForm,
  hrefOf,
  Listing,
  Nothing,
  Page,
  place,
  SelectFilter,
  type TableColumn,
  Time,
  useLoaded,
} from '../../console/kit.ts';
import {
  filterParams,
  JOBS,
  type JobFilter,
  jobsHref,
  progressText,
  STATUSES,
  StatusBadge,
  useOverview,
} from './status.tsx';
import { texts } from './texts.ts';
import type { JobItem, JobStatus } from './types.ts';

/** The interval in ms at which the list is read, because another process may run the jobs. */
const READ_EVERY_MS = 1000;
const STATUS_OPTIONS = STATUSES.map((status): [string, string] => [status, texts.states[status]]);
const { list } = texts;

const TimeWith = ({ label, at }: { label: string; at: string }) => (
  <>
    {label} <Time value={at} />
  </>
);

/** How a job ended, which is neither waiting nor running. */
function Ending({ job: { status, error, startedAt, finishedAt, schedule } }: { job: JobItem }) {
  if (error !== null && status !== 'cancelled') return error;
  if (status === 'cancelled') return finishedAt && <TimeWith label={list.ended} at={finishedAt} />;
  const took = startedAt && finishedAt && list.took(durationText(Date.parse(finishedAt) - Date.parse(startedAt)));
  return [took, schedule && list.bySchedule(schedule)].filter(Boolean).join(', ');
}

/** What matters about a job, by its status. */
function Detail({ job }: { job: JobItem }) {
  const { status, error, progress, runAt, startedAt, attempts } = job;
  if (status === 'waiting' && attempts > 0)
    return (
      <>
        <TimeWith label={list.nextAttempt} at={runAt} />: {error}
      </>
    );
  if (status === 'waiting') return <TimeWith label={list.due} at={runAt} />;
  if (status !== 'running') return <Ending job={job} />;
  return progress === null ? <TimeWith label={list.started} at={startedAt ?? runAt} /> : progressText(progress);
}

const columnsFor = (filter: JobFilter): TableColumn<JobItem>[] => [
  {
    name: 'job',
    label: texts.job,
    render: ({ job, label, id }) => (
      <a href={jobsHref(filter, id)} title={job}>
        {label}
      </a>
    ),
  },
  { name: 'status', label: list.status, render: (job) => <StatusBadge job={job} /> },
  {
    name: 'detail',
    label: list.detail,
    render: (job) => (
      <span class="jobs-detail">
        <Detail job={job} />
      </span>
    ),
  },
  { name: 'attempts', label: list.attempts, isNumber: true, render: ({ attempts }) => attempts },
  { name: 'enqueued', label: list.enqueued, render: ({ createdAt }) => <Time value={createdAt} /> },
];

function Filters({ job, fixedStatus }: { job: string | undefined; fixedStatus: JobStatus | undefined }) {
  const kinds = useOverview().data?.kinds ?? [];
  const labels = new Map(kinds.map(({ name, label }) => [name, label]));
  // The address may name a job that the app no longer knows.
  if (job !== undefined && !labels.has(job)) labels.set(job, job);
  return (
    <FilterForm kind="jobs-filters" label={list.filter}>
      <SelectFilter name="job" label={texts.job} all={list.anyJob} options={[...labels]} />
      {fixedStatus === undefined && (
        <SelectFilter name="status" label={list.status} all={list.anyStatus} options={STATUS_OPTIONS} />
      )}
    </FilterForm>
  );
}

function NoJobs({ isFiltered, fixedStatus }: { isFiltered: boolean; fixedStatus: JobStatus | undefined }) {
  if (fixedStatus === 'failed')
    return (
      <Nothing title={list.noFailed}>
        <p>{list.noFailedText}</p>
      </Nothing>
    );
  if (isFiltered)
    return (
      <Nothing title={list.noMatch}>
        <p>{list.noMatchText}</p>
      </Nothing>
    );
  return (
    <Nothing title={list.nothing}>
      <p>{list.nothingText}</p>
      <p>
        <a href={`${JOBS}/enqueue`}>{list.tryOne}</a>
      </p>
    </Nothing>
  );
}

/** Jobs, newest first. The filters and the page are in the address. */
export function ListPage({ fixedStatus }: { fixedStatus?: JobStatus }) {
  const { params } = place.value;
  const filter = {
    job: params.get('job') ?? undefined,
    status: fixedStatus ?? params.get('status') ?? undefined,
    after: params.get('after') ?? undefined,
  };
  const query = filterParams(filter);
  const jobs = useLoaded<JobItem[]>(hrefOf('/jobs/runs', query), { everyMs: READ_EVERY_MS });
  return (
    <Page title={fixedStatus === 'failed' ? list.failedTitle : texts.allJobs} intro={list.intro}>
      <Filters job={filter.job} fixedStatus={fixedStatus} />
      <Listing
        from={jobs}
        label={texts.jobs}
        columns={columnsFor(filter)}
        empty={<NoJobs isFiltered={query.size > 0} fixedStatus={fixedStatus} />}
      />
    </Page>
  );
}
