import './operations.css';
import { app, type Tab, TabLayout } from '../../console/kit.ts';
import { LimitsPage } from './limits.tsx';
import { LogPage } from './log.tsx';
import { OverviewPage } from './overview.tsx';
import { ProcessesPage } from './processes.tsx';
import { QueuePage } from './queue.tsx';
import { QueuesPage } from './queues.tsx';
import { SlowPage } from './slow.tsx';

const BASE = '/console/operations';

/** The log exists only in development. */
const sections = () => [
  { path: BASE, label: 'Overview' },
  { path: `${BASE}/processes`, label: 'Processes' },
  { path: `${BASE}/queues`, label: 'Queues and outbox' },
  { path: `${BASE}/slow`, label: 'Slow work' },
  { path: `${BASE}/limits`, label: 'Limits and locks' },
  ...(app.value.mode === 'development' ? [{ path: `${BASE}/log`, label: 'Log' }] : []),
];

/** The state of the running app. */
export const tab: Tab = {
  component: ({ children }) => (
    <TabLayout label="Operations" sections={sections()}>
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
