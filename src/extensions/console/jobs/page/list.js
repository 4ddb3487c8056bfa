import {
  FilterForm,
  hrefOf,
  html,
  Listing,
  Nothing,
  Page,
  place,
  SelectFilter,
  sentenceCase,
  Time,
  useLoaded,
} from 'belfry/console';
import { useContext } from 'preact/hooks';
import { JOBS, JobStatus, jobsHref, OverviewContext, progressText, STATUSES } from './status.js';

/** The interval in ms at which the list is read, because another process may run the jobs. */
const READ_EVERY_MS = 1000;
const STATUS_OPTIONS = STATUSES.map((status) => [status, sentenceCase(status)]);

/** What matters about a job, by its status. */
function Detail({ job: { status, error, progress, runAt, attempts, schedule } }) {
  if (status === 'waiting' && attempts > 0) return html`Next attempt <${Time} value=${runAt} />: ${error}`;
  if (status === 'waiting') return html`Due <${Time} value=${runAt} />`;
  if (status === 'running' && progress !== null) return progressText(progress);
  return error ?? (schedule === null ? '' : `By the schedule ${schedule}`);
}

const columnsFor = (filter) => [
  {
    name: 'job',
    label: 'Job',
    render: ({ job, id }) => html`<a href=${jobsHref(filter, id)}>${job}</a>`,
  },
  { name: 'status', label: 'Status', render: ({ status }) => html`<${JobStatus} status=${status} />` },
  { name: 'detail', label: 'Detail', render: (job) => html`<span class="jobs-detail"><${Detail} job=${job} /></span>` },
  { name: 'attempts', label: 'Attempts', isNumber: true, render: ({ attempts }) => attempts },
  { name: 'enqueued', label: 'Enqueued', render: ({ createdAt }) => html`<${Time} value=${createdAt} />` },
];

function Filters({ job, fixedStatus }) {
  const { kinds = [] } = useContext(OverviewContext).data ?? {};
  const names = new Set([...kinds.map(({ name }) => name), ...(job === undefined ? [] : [job])]);
  return html`<${FilterForm} kind="jobs-filters" label="Filter the jobs">
    <${SelectFilter} name="job" label="Job" all="All jobs" options=${[...names].map((name) => [name, name])} />
    ${fixedStatus === undefined && html`<${SelectFilter} name="status" label="Status" all="All statuses" options=${STATUS_OPTIONS} />`}
  <//>`;
}

function NoJobs({ isFiltered, fixedStatus }) {
  if (fixedStatus === 'failed')
    return html`<${Nothing} title="No failed jobs"><p>Jobs appear here when their last attempt has failed.</p><//>`;
  if (isFiltered) return html`<${Nothing} title="No jobs"><p>No stored job matches the filter.</p><//>`;
  return html`<${Nothing} title="No jobs yet">
    <p>Jobs appear here when your code or a schedule enqueues them. To try one, <a href=${`${JOBS}/enqueue`}>enqueue it</a>.</p>
  <//>`;
}

/** Jobs, newest first. The filters and the page are in the address. @param {{ fixedStatus?: string }} props */
export function ListPage({ fixedStatus }) {
  const { params } = place.value;
  const filter = {
    job: params.get('job') ?? undefined,
    status: fixedStatus ?? params.get('status') ?? undefined,
    after: params.get('after') ?? undefined,
  };
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== undefined));
  const list = useLoaded(hrefOf('/jobs/runs', query), { everyMs: READ_EVERY_MS });
  return html`<${Page} title=${fixedStatus === 'failed' ? 'Failed jobs' : 'All jobs'} intro="Newest first.">
    <${Filters} job=${filter.job} fixedStatus=${fixedStatus} />
    <${Listing}
      from=${list}
      label="Jobs"
      columns=${columnsFor(filter)}
      empty=${html`<${NoJobs} isFiltered=${query.size > 0} fixedStatus=${fixedStatus} />`}
    />
  <//>`;
}
