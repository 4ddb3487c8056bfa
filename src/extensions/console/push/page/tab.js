import { app, html, navigate, TabLayout } from 'belfry/console';
import { useEffect } from 'preact/hooks';
import { DevicePage } from './device.js';
import { DevicesPage } from './devices.js';
import { PUSH } from './outcome.js';
import { RemovedPage } from './removed.js';
import { SendPage } from './send.js';
import { SendsPage } from './sends.js';
import { SimulatorPage } from './simulator/simulator.js';

const hasSimulator = () => app.value.mode === 'development';

function PushLayout({ children }) {
  const sections = [
    ...(hasSimulator() ? [{ path: PUSH, label: 'Simulator' }] : []),
    { path: `${PUSH}/sends`, label: 'Sends' },
    { path: `${PUSH}/devices`, label: 'Devices' },
    { path: `${PUSH}/removed`, label: 'Removed devices' },
  ];
  return html`<${TabLayout} label="Push" sections=${sections}>${children}<//>`;
}

/** The tab opens with the simulator; in production, where there is none, with the sends. */
function FirstPage() {
  useEffect(() => {
    if (!hasSimulator()) navigate(`${PUSH}/sends`, { replace: true });
  }, []);
  return hasSimulator() ? html`<${SimulatorPage} />` : null;
}

/** Push messages, devices and the simulator. @type {import('../../page/app.js').Tab} */
export const tab = {
  component: PushLayout,
  routes: [
    { path: '', component: FirstPage },
    { path: 'sends', component: SendsPage },
    { path: 'sends/:id', component: SendPage },
    { path: 'devices', component: DevicesPage },
    { path: 'devices/:id', component: DevicePage },
    { path: 'removed', component: RemovedPage },
  ],
};
