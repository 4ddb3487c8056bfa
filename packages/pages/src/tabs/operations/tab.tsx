import './operations.css';
import { app, type Tab, TabLayout } from '../../console/kit.ts';
import { LimitsPage } from './limits.tsx';
import { LogPage } from './log.tsx';
import { OverviewPage } from './overview.tsx';
import { ProcessesPage } from './processes.tsx';
import { QueuePage } from './queue.tsx';
import { QueuesPage } from './queues.tsx';
import { SlowPage } from './slow.tsx';
import { texts } from './texts.ts';

const BASE = '/console/operations';
const { sections: names } = texts;

/** The log exists only in development. */
const sections = () => [
  { path: BASE, label: names.overview },
  { path: `${BASE}/processes`, label: names.processes },
  { path: `${BASE}/queues`, label: names.queues },
  { path: `${BASE}/slow`, label: names.slow },
  { path: `${BASE}/limits`, label: names.limits },
  ...(app.value.mode === 'development' ? [{ path: `${BASE}/log`, label: names.log }] : []),
];

/** The state of the running app. */
export const tab: Tab = {
  component: ({ children }) => (
    <TabLayout label={names.label} sections={sections()}>
      {children}
    </TabLayout>
  ),
  routes: [
    { path: '', component: OverviewPage },
    { path: 'processes', component: ProcessesPage },
    { path: 'queues', component: QueuesPage },
    { path: 'queues/:name', component: QueuePage },
    { path: 'slow', component: SlowPage },
    { path: 'limits', component: LimitsPage },
    { path: 'log', component: LogPage },
  ],
};
