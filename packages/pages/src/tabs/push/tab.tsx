import { texts } from './texts.ts';
import './push.css';
import './simulator/notification.css';
import './simulator/simulator.css';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { app, navigate, type Tab, TabLayout } from '../../console/kit.ts';
import { DevicePage } from './device.tsx';
import { DevicesPage } from './devices.tsx';
import { PUSH } from './outcome.tsx';
import { RemovedPage } from './removed.tsx';
import { SendPage } from './send.tsx';
import { SendsPage } from './sends.tsx';
import { SimulatorPage } from './simulator/simulator.tsx';

const hasSimulator = () => app.value.mode === 'development';

function PushLayout({ children }: { children: ComponentChildren }) {
  const sections = [
    ...(hasSimulator() ? [{ path: PUSH, label: texts.sections.simulator }] : []),
    { path: `${PUSH}/sends`, label: texts.sections.sends },
    { path: `${PUSH}/devices`, label: texts.sections.devices },
    { path: `${PUSH}/removed`, label: texts.sections.removed },
  ];
  return (
    <TabLayout label={texts.title} sections={sections}>
      {children}
    </TabLayout>
  );
}

/** The tab opens with the simulator; in production, where there is none, with the sends. */
function FirstPage() {
  useEffect(() => {
    if (!hasSimulator()) navigate(`${PUSH}/sends`, { replace: true });
  }, []);
  return hasSimulator() ? <SimulatorPage /> : null;
}

/** Push messages, devices and the simulator. */
export const tab: Tab = {
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
