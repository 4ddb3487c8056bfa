import { app, html, TabLayout } from 'belfry/console';
import { LimitsPage } from './limits.js';
import { LogPage } from './log.js';
import { OverviewPage } from './overview.js';
import { ProcessesPage } from './processes.js';
import { QueuePage, QueuesPage } from './queues.js';
import { SlowPage } from './slow.js';

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

/** The state of the running app. @type {import('../../page/app.js').Tab} */
export const tab = {
  component: ({ children }) => html`<${TabLayout} label="Operations" sections=${sections()}>${children}<//>`,
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
