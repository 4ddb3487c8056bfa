import { DataTable, html, Loaded, Nothing, Page, Section, useLoaded } from 'belfry/console';
import { chosenRange, DeliveryChart, durationText, endpointHref, HOME, Owner, RangeChoice, UrlText } from './states.js';

const REFRESH_MS = 15_000;

/** A number with its name; a link if there is a list of what it counts. */
function Card({ label, value, note, href, kind = '' }) {
  const content = html`<span class="soft">${label}</span><b class=${kind}>${typeof value === 'number' ? value.toLocaleString('en') : value}</b>
    ${note && html`<span class="soft webhooks-note">${note}</span>`}`;
  return href === undefined
    ? html`<div class="card">${content}</div>`
    : html`<a class="card webhooks-card" href=${href}>${content}</a>`;
}

function EndpointCards({ endpoints: { active, retrying, failing, disabled }, failed }) {
  const states = Object.values(disabled).reduce((sum, count) => sum + count, 0);
  const automatic = states - (disabled.manual ?? 0);
  const list = (state) => `${HOME}/endpoints?state=${state}`;
  return html`<div class="cards-grid">
    <${Card} label="Active endpoints" value=${active} href=${list('active')} note="the last delivery succeeded, or none yet" />
    <${Card} label="Retrying endpoints" value=${retrying} kind=${retrying > 0 ? 'webhooks-warn' : ''} href=${list('retrying')} note="deliveries wait for another attempt" />
    <${Card} label="Failing endpoints" value=${failing} kind=${failing > 0 ? 'webhooks-warn' : ''} href=${list('failing')} note="failed deliveries in a row" />
    <${Card} label="Disabled endpoints" value=${states} kind=${automatic > 0 ? 'bad-text' : ''} href=${list('disabled')} note=${automatic === 0 ? 'by users' : `${automatic} automatically`} />
    <${Card} label="Failed deliveries in the log" value=${failed} kind=${failed > 0 ? 'bad-text' : ''} href=${`${HOME}/deliveries?status=failed`} note="all attempts failed; they can be recovered" />
  </div>`;
}

function QueueCards({ queue: { due, retrying, held, inFlight, oldestMs, events } }) {
  const late = oldestMs !== null && oldestMs > 60_000;
  return html`<div class="cards-grid webhooks-queue">
    <${Card} label="Due now" value=${due} kind=${late ? 'bad-text' : ''} note=${oldestMs === null ? 'nothing is overdue' : `the oldest is overdue by ${durationText(oldestMs)}`} />
    <${Card} label="In flight" value=${inFlight} href=${`${HOME}/deliveries?status=sending`} />
    <${Card} label="Waiting for a retry" value=${retrying} href=${`${HOME}/deliveries?status=pending`} />
    <${Card} label="Held" value=${held} note="the endpoint or its owner is disabled" />
    <${Card} label="Events for the relay" value=${events} note="not yet turned into deliveries" />
  </div>`;
}

function Ranking({ title, rows, column, empty }) {
  return html`<${Section} title=${title}>
    ${
      rows.length === 0
        ? html`<p class="soft">${empty}</p>`
        : html`<${DataTable} label=${title} rows=${rows} columns=${[
            {
              name: 'url',
              label: 'Endpoint',
              render: ({ id, url }) => html`<a href=${endpointHref(id)}><${UrlText} url=${url} /></a>`,
            },
            { name: 'owner', label: 'Owner', render: ({ owner }) => html`<${Owner} id=${owner} />` },
            column,
          ]} />`
    }
  <//>`;
}

const FAILED = {
  name: 'failed',
  label: 'Failed',
  isNumber: true,
  render: ({ failed, succeeded }) => html`<span class="webhooks-nowrap">${failed} of ${failed + succeeded}</span>`,
};
const SLOW = {
  name: 'ms',
  label: '95 % within',
  isNumber: true,
  render: ({ durationMs }) => html`<span class="webhooks-nowrap">${durationText(durationMs)}</span>`,
};

function NoEndpoints() {
  return html`<${Nothing} title="No endpoint yet">
    <p>Users register endpoints with <code>POST /api/webhooks</code> or in the webhook portal. Endpoints, deliveries and failures appear here.</p>
    <p><a class="button primary" href=${`${HOME}/endpoints/new`}>Create an endpoint</a></p>
  <//>`;
}

/** Numbers and charts of all endpoints. */
export function OverviewPage() {
  const overview = useLoaded(`/webhooks/overview?range=${chosenRange()}`, { everyMs: REFRESH_MS });
  const hasNone = ({ endpoints: { active, retrying, failing, disabled } }) =>
    active + retrying + failing + Object.keys(disabled).length === 0;
  return html`<${Page} title="Webhooks" intro="The endpoints of all users, and what is sent to them.">
    <${Loaded} from=${overview}>
      ${(data) =>
        hasNone(data)
          ? html`<${NoEndpoints} />`
          : html`<${EndpointCards} ...${data} />
            <${Section} title="Deliveries" actions=${html`<${RangeChoice} />`}><${DeliveryChart} chart=${data.chart} /><//>
            <${Section} title="Queue"><${QueueCards} queue=${data.queue} /><//>
            <div class="webhooks-columns">
              <${Ranking} title="Most failures" rows=${data.failing} column=${FAILED} empty="No delivery of this time failed." />
              <${Ranking} title="Slowest" rows=${data.slow} column=${SLOW} empty="Nothing was sent in this time." />
            </div>`}
    <//>
  <//>`;
}
