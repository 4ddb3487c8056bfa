import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { hrefOf, type Load, Status } from '../../console/kit.ts';
import type { JobOverview, JobProgress, JobStatus } from './types.ts';

export const JOBS = '/console/jobs';

/** The state of reading the overview, which the pages of the tab share. */
export const OverviewContext = createContext<Load<JobOverview> | undefined>(undefined);

/** The overview that the layout of the tab reads. */
export function useOverview() {
  const overview = useContext(OverviewContext);
  if (overview === undefined) throw new Error('This page must be within the layout of the tab');
  return overview;
}

/** The colour of a status. */
export const STATUS_KINDS = {
  waiting: 'neutral',
  running: 'warn',
  succeeded: 'good',
  failed: 'bad',
  cancelled: 'neutral',
} as const;

/** The status of a job, with its colour. */
export function StatusBadge({ status }: { status: JobStatus }) {
  return <Status kind={STATUS_KINDS[status]}>{status}</Status>;
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

/** How far a run is, as a text. */
export const progressText = ({ done, total }: JobProgress) =>
  total === undefined ? `${done} done` : `${done} of ${total}`;
