import { texts } from './texts.ts';
import './webhooks.css';
import type { ComponentChildren } from 'preact';
import { type Tab, TabLayout, useLoaded } from '../../console/kit.ts';
import { DeliveriesPage } from './deliveries.tsx';
import { DeliveryPage } from './delivery.tsx';
import { EditEndpointPage, NewEndpointPage } from './edit-endpoint.tsx';
import { EndpointPage } from './endpoint.tsx';
import { EndpointsPage } from './endpoints.tsx';
import { EventPage, EventsPage } from './events.tsx';
import { ExplainPage } from './explain.tsx';
import { OverviewPage } from './overview.tsx';
import { ReceiverPage } from './receiver.tsx';
import type { WebhookFacts } from './responses.ts';
import { HOME } from './states.tsx';

const SECTIONS = [
  { path: HOME, label: texts.sections.overview },
  { path: `${HOME}/endpoints`, label: texts.sections.endpoints },
  { path: `${HOME}/deliveries`, label: texts.sections.deliveries },
  { path: `${HOME}/explain`, label: texts.sections.explain },
  { path: `${HOME}/events`, label: texts.sections.events },
];
const RECEIVER = { path: `${HOME}/receiver`, label: texts.sections.receiver };

function Layout({ children }: { children: ComponentChildren }) {
  const { data } = useLoaded<WebhookFacts>('/webhooks/facts');
  const sections = data?.hasReceiver ? [...SECTIONS, RECEIVER] : SECTIONS;
  return (
    <TabLayout label={texts.title} sections={sections}>
      {children}
    </TabLayout>
  );
}

/** The endpoints and deliveries of all users. */
export const tab: Tab = {
  component: Layout,
  routes: [
    { path: '', component: OverviewPage },
    { path: 'endpoints', component: EndpointsPage },
    { path: 'endpoints/new', component: NewEndpointPage },
    { path: 'endpoints/:id', component: EndpointPage },
    { path: 'endpoints/:id/edit', component: EditEndpointPage },
    { path: 'deliveries', component: DeliveriesPage },
    { path: 'deliveries/:id', component: DeliveryPage },
    { path: 'explain', component: ExplainPage },
    { path: 'events', component: EventsPage },
    { path: 'events/:name', component: EventPage },
    { path: 'receiver', component: ReceiverPage },
  ],
};
