import { html, TabLayout, useLoaded } from 'belfry/console';
import { DeliveriesPage } from './deliveries.js';
import { DeliveryPage } from './delivery.js';
import { EndpointPage } from './endpoint.js';
import { EditEndpointPage, NewEndpointPage } from './endpoint-form.js';
import { EndpointsPage } from './endpoints.js';
import { EventPage, EventsPage } from './events.js';
import { ExplainPage } from './explain.js';
import { OverviewPage } from './overview.js';
import { ReceiverPage } from './receiver.js';
import { HOME } from './states.js';

const SECTIONS = [
  { path: HOME, label: 'Overview' },
  { path: `${HOME}/endpoints`, label: 'Endpoints' },
  { path: `${HOME}/deliveries`, label: 'Deliveries' },
  { path: `${HOME}/explain`, label: 'Explain' },
  { path: `${HOME}/events`, label: 'Events' },
];
const RECEIVER = { path: `${HOME}/receiver`, label: 'Receiver' };

function Layout({ children }) {
  const { data } = useLoaded('/webhooks/facts');
  const sections = data?.hasReceiver ? [...SECTIONS, RECEIVER] : SECTIONS;
  return html`<${TabLayout} label="Webhooks" sections=${sections}>${children}<//>`;
}

/** The endpoints and deliveries of all users. @type {import('../../../console/page/app.js').Tab} */
export const tab = {
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
