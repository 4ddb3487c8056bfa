import { ActionButton, call, html, Loaded, setParams, Time, useLoaded } from 'belfry/console';
import { useRef } from 'preact/hooks';

const POLL_MS = 1000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const STATES = {
  running: 'Sending again',
  finished: 'Finished',
  stopped: 'Stopped, because the endpoint was disabled',
};

/** The local time in the form of a `datetime-local` input. */
const toInputValue = (ms) => new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

function Progress({ endpoint, id }) {
  const recovery = useLoaded(`/webhooks/endpoints/${endpoint}/recoveries/${encodeURIComponent(id)}`, {
    everyMs: POLL_MS,
  });
  return html`<${Loaded} from=${recovery}>
    ${({ status, since, total, resent }) => html`<div class="webhooks-progress" role="status">
      <p>${STATES[status]}: ${resent} of ${total} deliveries that failed since <${Time} value=${since} /> wait to be sent again or were sent.</p>
      ${total > 0 && html`<progress max=${total} value=${resent} aria-label="Progress of the recovery"></progress>`}
    </div>`}
  <//>`;
}

/** Sends all deliveries again that failed since a time. @param {{ endpoint: any, id: string | null }} props `id`: of the recovery whose progress is shown */
export function Recovery({ endpoint, id }) {
  const input = useRef(null);
  const { data: { keepDays } = {} } = useLoaded('/webhooks/facts');
  const start = async () => {
    const since = new Date(input.current.value);
    if (Number.isNaN(since.getTime())) throw new Error('Choose a time.');
    const body = { since: since.toISOString() };
    const { data } = await call(`/webhooks/endpoints/${endpoint.id}/recover`, { method: 'POST', body });
    await setParams({ recovery: data.id }, { replace: true });
  };
  return html`<p class="soft part-text">
      Sends every delivery again whose attempts all failed, for example after an outage of the receiver. Deliveries that wait for their next
      attempt need no recovery.
    </p>
    <div class="filters webhooks-filters">
      <label>Failed since
        <input type="datetime-local" ref=${input} defaultValue=${toInputValue(Date.now() - HOUR_MS)} min=${keepDays && toInputValue(Date.now() - keepDays * DAY_MS)} />
      </label>
      <${ActionButton} run=${start} disabled=${!endpoint.enabled || !endpoint.isOwnerActive}>Send again<//>
    </div>
    ${id && html`<${Progress} endpoint=${endpoint.id} id=${id} />`}`;
}
