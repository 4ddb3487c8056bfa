import { Code, html, Nothing, Page, TabLayout, useLoaded } from 'belfry/console';
import { EnqueuePage } from './enqueue.js';
import { JobPage } from './job.js';
import { ListPage } from './list.js';
import { OverviewPage } from './overview.js';
import { JOBS, OverviewContext } from './status.js';

/** The interval in ms at which the overview is read, because another process may run the jobs. */
const READ_EVERY_MS = 2000;

const DECLARATION = `import { createApp, defineJob } from 'belfry';

export const greet = defineJob('greet', { run: ({ log }) => log.info('Hello') });
export const app = createApp({ resources, jobs: [greet] }, process.env);

await app.jobs.enqueue(greet);`;

function NoJobs() {
  return html`<${Page} title="Jobs">
    <${Nothing} title="This app declares no jobs">
      <p>A job is work outside of a request: now, later, or by a schedule. Declare one, add it to the app, and enqueue it:</p>
      <${Code} text=${DECLARATION} label="Declaration of a job" />
    <//>
  <//>`;
}

/** The sections of the tab. Its pages share the overview, which is read while the tab is open. */
function JobsLayout({ children }) {
  const overview = useLoaded('/jobs/overview', { everyMs: READ_EVERY_MS });
  const { data } = overview;
  if (data?.kinds.length === 0) return html`<${NoJobs} />`;
  const sections = [
    { path: JOBS, label: 'Overview' },
    { path: `${JOBS}/runs`, label: 'All jobs' },
    { path: `${JOBS}/failed`, label: 'Failed', count: data?.kinds.reduce((sum, { counts }) => sum + counts.failed, 0) },
    { path: `${JOBS}/enqueue`, label: 'Enqueue a job' },
  ];
  return html`<${TabLayout} label="Jobs" sections=${sections}>
    <${OverviewContext.Provider} value=${overview}>${children}<//>
  <//>`;
}

/** Background jobs and schedules. @type {import('../../page/app.js').Tab} */
export const tab = {
  component: JobsLayout,
  routes: [
    { path: '', component: OverviewPage },
    { path: 'runs', component: ListPage },
    { path: 'runs/:id', component: JobPage },
    { path: 'failed', component: () => html`<${ListPage} fixedStatus="failed" />` },
    { path: 'enqueue', component: EnqueuePage },
  ],
};
