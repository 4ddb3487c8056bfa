import { hrefOf, html, Status } from 'belfry/console';
import { createContext } from 'preact';

export const JOBS = '/console/jobs';
export const STATUSES = ['waiting', 'running', 'succeeded', 'failed', 'cancelled'];

/** The state of reading the overview (`useLoaded`), which the pages of the tab share. */
export const OverviewContext = createContext(undefined);

const KINDS = { succeeded: 'good', failed: 'bad', running: 'warn' };

/** The colour of a status. @returns {'good' | 'bad' | 'warn' | 'neutral'} */
export const kindOf = (status) => KINDS[status] ?? 'neutral';

/** The status of a job. @param {{ status: string }} props */
export function JobStatus({ status }) {
  return html`<${Status} kind=${kindOf(status)}>${status}<//>`;
}

/**
 * A link to a list of jobs, or to one job within it.
 *
 * @param {{ job?: string | null, status?: string | null, after?: string | null }} filter
 * @param {string} [id] of the job
 */
export function jobsHref({ job, status, after }, id) {
  const filled = Object.entries({ job, status, after }).filter(([, value]) => Boolean(value));
  return hrefOf(id === undefined ? `${JOBS}/runs` : `${JOBS}/runs/${id}`, new URLSearchParams(filled));
}

/** How far a run is, as a text. @param {{ done: number, total?: number }} progress */
export const progressText = ({ done, total }) => (total === undefined ? `${done} done` : `${done} of ${total}`);
