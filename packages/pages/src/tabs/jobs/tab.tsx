import './jobs.css';
import type { ComponentChildren } from 'preact';
import { Code, Nothing, Page, type Tab, TabLayout, useLoaded } from '../../console/kit.ts';
import { EnqueuePage } from './enqueue.tsx';
import { JobPage } from './job.tsx';
import { ListPage } from './list.tsx';
import { OverviewPage } from './overview.tsx';
import { JOBS, OverviewContext } from './status.tsx';
import type { JobOverview } from './types.ts';

/** The interval in ms at which the overview is read, because another process may run the jobs. */
const READ_EVERY_MS = 2000;

const DECLARATION = `import { createApp, defineJob } from 'belfry';

export const greet = defineJob('greet', { run: ({ log }) => log.info('Hello') });
export const app = createApp({ resources, jobs: [greet] }, process.env);

await app.jobs.enqueue(greet);`;

function NoJobs() {
  return (
    <Page title="Jobs">
      <Nothing title="This app declares no jobs">
        <p>
          A job is work outside of a request: now, later, or by a schedule. Declare one, add it to the app, and enqueue
          it:
        </p>
        <Code text={DECLARATION} label="Declaration of a job" />
      </Nothing>
    </Page>
  );
}

/** The sections of the tab. Its pages share the overview, which is read while the tab is open. */
function JobsLayout({ children }: { children: ComponentChildren }) {
  const overview = useLoaded<JobOverview>('/jobs/overview', { everyMs: READ_EVERY_MS });
  const { data } = overview;
  if (data?.kinds.length === 0) return <NoJobs />;
  const sections = [
    { path: JOBS, label: 'Overview' },
    { path: `${JOBS}/runs`, label: 'All jobs' },
    { path: `${JOBS}/failed`, label: 'Failed', count: data?.kinds.reduce((sum, { counts }) => sum + counts.failed, 0) },
    { path: `${JOBS}/enqueue`, label: 'Enqueue a job' },
  ];
  return (
    <TabLayout label="Jobs" sections={sections}>
      <OverviewContext.Provider value={overview}>{children}</OverviewContext.Provider>
    </TabLayout>
  );
}

/** Background jobs and schedules. */
export const tab: Tab = {
  component: JobsLayout,
  routes: [
    { path: '', component: OverviewPage },
    { path: 'runs', component: ListPage },
    { path: 'runs/:id', component: JobPage },
    { path: 'failed', component: () => <ListPage fixedStatus="failed" /> },
    { path: 'enqueue', component: EnqueuePage },
  ],
};
