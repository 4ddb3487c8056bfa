import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { Notice, Time, useAction, useData } from '../parts/controls.js';
import { readCatalogue } from '../parts/event-picker.js';
import { send } from '../session.js';
import { DeliveryBadge, DeliveryDetails, summarize } from './delivery.js';

const PAGE_SIZE = 20;
const REFRESH_MS = 5000;

const STATUSES = { '': 'All', succeeded: 'Succeeded', failed: 'Failed', pending: 'Waiting', sending: 'Sending' };

function Delivery({ endpoint, delivery, onRetried }) {
  const [open, setOpen] = useState(false);
  const { busy, error, run } = useAction();
  const { id, type, status, createdAt } = delivery;
  const retry = () =>
    run(async () => {
      await send(`/${endpoint.id}/deliveries/${id}/retry`, { method: 'POST' });
      onRetried();
    });
  return html`<li class="delivery">
    <button type="button" class="summary" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      <${DeliveryBadge} status=${status} />
      <code>${type}</code>
      <span class="soft result-text">${summarize(delivery)}</span>
      <span class="soft when"><${Time} at=${createdAt} /></span>
    </button>
    ${
      open &&
      html`<${DeliveryDetails} delivery=${delivery} />
      <${Notice} kind="bad">${error?.message}<//>
      <p><button type="button" disabled=${busy || !endpoint.enabled || status === 'sending'} onClick=${retry}>${busy ? 'Sending…' : 'Send again'}</button></p>`
    }
  </li>`;
}

/** The log of an endpoint: filtered, page by page, newest first. It follows new deliveries while its first page is shown. */
export function Deliveries({ endpoint, onSettled }) {
  const [status, setStatus] = useState('');
  const [event, setEvent] = useState('');
  const [older, setOlder] = useState([]);
  const [next, setNext] = useState(undefined);
  const more = useAction();
  const catalogue = useData('catalogue', readCatalogue);
  const filter = `${status === '' ? '' : `&status=${status}`}${event === '' ? '' : `&event=${encodeURIComponent(event)}`}`;
  const path = `/${endpoint.id}/deliveries?limit=${PAGE_SIZE}${filter}`;
  const { data, error, reload } = useData(path, (signal) => send(path, { signal }));
  useEffect(() => {
    setOlder([]);
    setNext(undefined);
  }, [path]);
  const isFirstPage = older.length === 0;
  useEffect(() => {
    if (!isFirstPage) return undefined;
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [path, isFirstPage]);
  const list = data === undefined ? undefined : [...data.data, ...older];
  const cursor = next === undefined ? data?.meta.next : next;
  const showOlder = () =>
    more.run(async () => {
      const page = await send(`${path}&after=${encodeURIComponent(cursor)}`);
      setOlder([...older, ...page.data]);
      setNext(page.meta.next);
    });
  const retried = () => {
    setOlder([]);
    setNext(undefined);
    reload();
    onSettled();
  };
  const names = [...(catalogue.data?.data ?? []).map(({ name }) => name), 'webhook.test'];
  return html`
    <h2 class="visually-hidden">Deliveries</h2>
    <div class="row wrap filters">
      <label>Status <select value=${status} onChange=${({ currentTarget }) => setStatus(currentTarget.value)}>
        ${Object.entries(STATUSES).map(([value, text]) => html`<option key=${value} value=${value}>${text}</option>`)}
      </select></label>
      <label>Event <select value=${event} onChange=${({ currentTarget }) => setEvent(currentTarget.value)}>
        <option value="">All</option>${names.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
      </select></label>
      <button type="button" onClick=${retried}>Refresh</button>
    </div>
    <${Notice} kind="bad">${error?.message ?? more.error?.message}<//>
    ${list === undefined && !error && html`<p class="soft" role="status">Loading…</p>`}
    ${
      list?.length === 0 &&
      html`<p class="blank soft">${
        filter === ''
          ? 'Nothing has been sent to this endpoint yet. Send a test to see your first delivery.'
          : 'No delivery matches the filter.'
      }</p>`
    }
    ${list?.length > 0 && html`<ul class="deliveries">${list.map((each) => html`<${Delivery} key=${each.id} endpoint=${endpoint} delivery=${each} onRetried=${retried} />`)}</ul>`}
    ${cursor && html`<button type="button" disabled=${more.busy} onClick=${showOlder}>${more.busy ? 'Loading…' : 'Show older deliveries'}</button>`}
  `;
}
