import {
  FilterForm,
  hrefOf,
  Listing,
  Nothing,
  Page,
  place,
  SelectFilter,
  sentenceCase,
  type TableColumn,
  Time,
  useLoaded,
} from '../../console/kit.ts';
import { filterParams, JOBS, type JobFilter, jobsHref, progressText, StatusBadge, useOverview } from './status.tsx';
import { type JobItem, type JobStatus, STATUSES } from './types.ts';

/** The interval in ms at which the list is read, because another process may run the jobs. */
const READ_EVERY_MS = 1000;
const STATUS_OPTIONS = STATUSES.map((status): [string, string] => [status, sentenceCase(status)]);

/** What matters about a job, by its status. */
function Detail({ job: { status, error, progress, runAt, attempts, schedule } }: { job: JobItem }) {
  if (status === 'waiting' && attempts > 0)
    return (
      <>
        Next attempt <Time value={runAt} />: {error}
      </>
    );
  if (status === 'waiting')
    return (
      <>
        Due <Time value={runAt} />
      </>
    );
  if (status === 'running' && progress !== null) return progressText(progress);
  return error ?? (schedule === null ? '' : `By the schedule ${schedule}`);
}

const columnsFor = (filter: JobFilter): TableColumn<JobItem>[] => [
  {
    name: 'job',
    label: 'Job',
    render: ({ job, id }) => <a href={jobsHref(filter, id)}>{job}</a>,
  },
  { name: 'status', label: 'Status', render: ({ status }) => <StatusBadge status={status} /> },
  {
    name: 'detail',
    label: 'Detail',
    render: (job) => (
      <span class="jobs-detail">
        <Detail job={job} />
      </span>
    ),
  },
  { name: 'attempts', label: 'Attempts', isNumber: true, render: ({ attempts }) => attempts },
  { name: 'enqueued', label: 'Enqueued', render: ({ createdAt }) => <Time value={createdAt} /> },
];

function Filters({ job, fixedStatus }: { job: string | undefined; fixedStatus: JobStatus | undefined }) {
  const kinds = useOverview().data?.kinds ?? [];
  const names = new Set([...kinds.map(({ name }) => name), ...(job === undefined ? [] : [job])]);
  return (
    <FilterForm kind="jobs-filters" label="Filter the jobs">
      <SelectFilter name="job" label="Job" all="All jobs" options={[...names].map((name) => [name, name])} />
      {fixedStatus === undefined && (
        <SelectFilter name="status" label="Status" all="All statuses" options={STATUS_OPTIONS} />
      )}
    </FilterForm>
  );
}

function NoJobs({ isFiltered, fixedStatus }: { isFiltered: boolean; fixedStatus: JobStatus | undefined }) {
  if (fixedStatus === 'failed')
    return (
      <Nothing title="No failed jobs">
        <p>Jobs appear here when their last attempt has failed.</p>
      </Nothing>
    );
  if (isFiltered)
    return (
      <Nothing title="No jobs">
        <p>No stored job matches the filter.</p>
      </Nothing>
    );
  return (
    <Nothing title="No jobs yet">
      <p>
        Jobs appear here when your code or a schedule enqueues them. To try one,{' '}
        <a href={`${JOBS}/enqueue`}>enqueue it</a>.
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
  const list = useLoaded<JobItem[]>(hrefOf('/jobs/runs', query), { everyMs: READ_EVERY_MS });
  return (
    <Page title={fixedStatus === 'failed' ? 'Failed jobs' : 'All jobs'} intro="Newest first.">
      <Filters job={filter.job} fixedStatus={fixedStatus} />
      <Listing
        from={list}
        label="Jobs"
        columns={columnsFor(filter)}
        empty={<NoJobs isFiltered={query.size > 0} fixedStatus={fixedStatus} />}
      />
    </Page>
  );
}
