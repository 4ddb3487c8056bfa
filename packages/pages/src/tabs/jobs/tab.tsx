import './jobs.css';
import type { ComponentChildren } from 'preact';
import { Code, Nothing, Page, type Tab, TabLayout, useLoaded } from '../../console/kit.ts';
import { JobPage } from './job.tsx';
import { ListPage } from './list.tsx';
import { OverviewPage } from './overview.tsx';
import { RunPage } from './run-form.tsx';
import { JOBS, OverviewContext } from './status.tsx';
import { texts } from './texts.ts';
import type { ListedJobs } from './types.ts';

/** The interval in ms at which the overview is read, because another process may run the jobs. */
const READ_EVERY_MS = 2000;

const DECLARATION = `import { createApp, defineJob } from 'belfry';

export const greet = defineJob('greet', { run: ({ log }) => log.info('Hello') });
export const app = createApp({ resources, jobs: [greet] }, process.env);

await app.jobs.enqueue(greet);`;

function NoJobs() {
  return (
    <Page title={texts.jobs}>
      <Nothing title={texts.none.title}>
        <p>{texts.none.text}</p>
        <Code text={DECLARATION} label={texts.none.code} />
      </Nothing>
    </Page>
  );
}

/** The sections of the tab. Its pages share the overview, which is read while the tab is open. */
function JobsLayout({ children }: { children: ComponentChildren }) {
  const overview = useLoaded<ListedJobs>('/jobs/overview', { everyMs: READ_EVERY_MS });
  const { data } = overview;
  if (data?.kinds.length === 0) return <NoJobs />;
  const sections = [
    { path: JOBS, label: texts.overview },
    { path: `${JOBS}/runs`, label: texts.allJobs },
    {
      path: `${JOBS}/failed`,
      label: texts.failed,
      count: data?.kinds.reduce((sum, { counts }) => sum + counts.failed, 0),
    },
    { path: `${JOBS}/enqueue`, label: texts.runJob },
  ];
  return (
    <TabLayout label={texts.jobs} sections={sections}>
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
    { path: 'enqueue', component: RunPage },
  ],
};
