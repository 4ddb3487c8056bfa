import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { hrefOf, type Load, locale, Status } from '../../console/kit.ts';
import { texts } from './texts.ts';
import type { JobItem, JobStatus, ListedJobs } from './types.ts';

export const JOBS = '/console/jobs';

/** The state of reading the overview, which the layout of the tab provides to its pages. */
export const OverviewContext = createContext<Load<ListedJobs>>({
  data: undefined,
  meta: {},
  error: undefined,
  isLoading: true,
  reload: async () => {},
});

/** The overview that the layout of the tab reads. */
export const useOverview = () => useContext(OverviewContext);

/** The colour of a status. */
export const STATUS_KINDS = {
  waiting: 'neutral',
  running: 'warn',
  succeeded: 'good',
  failed: 'bad',
  cancelled: 'neutral',
} as const;

export const STATUSES = Object.keys(STATUS_KINDS) as JobStatus[];

/** The state of a job, which says of a waiting job why it waits. */
function stateOf({ status, attempts, runAt }: Pick<JobItem, 'status' | 'attempts' | 'runAt'>) {
  if (status !== 'waiting') return status;
  if (attempts > 0) return 'retrying';
  return Date.parse(runAt) > Date.now() ? 'planned' : 'waiting';
}

/** The state of a job in words, with its colour. */
export function StatusBadge({ job }: { job: JobItem }) {
  return <Status kind={STATUS_KINDS[job.status]}>{texts.states[stateOf(job)]}</Status>;
}

/** What a list of jobs is limited to, as in the address. */
export interface JobFilter {
  job?: string | null;
  status?: string | null;
  after?: string | null;
}

/** The filters that are set, as parameters. */
export function filterParams({ job, status, after }: JobFilter) {
  return new URLSearchParams(
    Object.entries({ job, status, after }).flatMap(([name, value]) => (value ? [[name, value]] : [])),
  );
}

/** A link to a list of jobs, or to one job within it. */
export const jobsHref = (filter: JobFilter, id?: string) =>
  hrefOf(id === undefined ? `${JOBS}/runs` : `${JOBS}/runs/${id}`, filterParams(filter));

/** The page that runs a job of a kind. @param from the id of a job whose input the form begins with */
export const runHref = (job: string, from?: string) =>
  hrefOf(`${JOBS}/enqueue`, new URLSearchParams(from === undefined ? { job } : { job, from }));

/** How far a run is, as a text. */
export const progressText = ({ done, total }: NonNullable<JobItem['progress']>) =>
  total === undefined ? texts.run.done(done) : texts.run.doneOf(done, total);

/** A time with its date, in the language of the page. */
export const timeText = (at: string) =>
  new Date(at).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'short' });
