import { html } from 'htm/preact';
import { render } from 'preact';
import '@preact/signals';
import { Title } from './parts/controls.js';
import { link, retrySession, startSession, state } from './session.js';
import { EndpointView } from './views/endpoint.js';
import { EndpointList, NewEndpoint } from './views/list.js';
import { applyTheme, place, reportHeight } from './window.js';

/** What is shown instead of the endpoints when there is no valid link. */
const STATES = {
  missing: [
    'Open this page from your app',
    'This page needs a link that your app creates for you. Open it from there.',
  ],
  expired: [
    'This link has expired',
    'Your work is saved. Reload the page of your app that contains this one, or open it again, to continue.',
  ],
  forbidden: ['You cannot manage webhooks', 'Your account does not include webhooks. Ask the people who run this app.'],
  failed: ['This page cannot be loaded', 'The server did not respond as expected.'],
};

function Unavailable({ reason }) {
  const [title, text] = STATES[reason];
  return html`<div class="blank">
    <${Title} focus=${reason === 'expired'}>${title}<//>
    <p>${text}</p>
    ${reason === 'failed' && html`<button type="button" class="primary" onClick=${retrySession}>Try again</button>`}
  </div>`;
}

function App() {
  const current = state.value;
  if (current === 'loading') return html`<p class="blank soft" role="status">Loading…</p>`;
  if (current !== 'ready') return html`<${Unavailable} reason=${current} key=${current} />`;
  const [first, section] = place.value;
  const only = link.value.endpointId;
  if (only !== null)
    return html`<${EndpointView} key=${only} id=${only} section=${first === only ? section : undefined} />`;
  if (first === undefined) return html`<${EndpointList} />`;
  if (first === 'new') return html`<${NewEndpoint} />`;
  return html`<${EndpointView} key=${first} id=${first} section=${section} />`;
}

applyTheme();
startSession();
render(html`<${App} />`, document.getElementById('app'));
reportHeight();
