import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { Field, Notice, useAction } from '../parts/controls.js';
import { link, RequestError, send } from '../session.js';
import { DeliveryResult } from './delivery.js';

const POLL_MS = 1000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function Test({ endpoint, onSent }) {
  const { busy, error, run } = useAction();
  const [sent, setSent] = useState(undefined);
  const test = () =>
    run(async () => {
      setSent(undefined);
      setSent((await send(`/${endpoint.id}/test`, { method: 'POST' })).data);
      onSent();
    });
  return html`<section>
    <h2>Send a test</h2>
    <p class="soft">Sends the event <code>webhook.test</code> now and shows the response of your server.</p>
    <button type="button" class="primary" disabled=${busy || !endpoint.enabled} onClick=${test}>${busy ? 'Sending…' : 'Send a test'}</button>
    <${Notice} kind="bad">${error?.message}<//>
    <div role="status">${sent && html`<${DeliveryResult} delivery=${sent} />`}</div>
  </section>`;
}

/** The local time in the form of a `datetime-local` input. */
const toInputValue = (ms) => new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

const RECOVERY_TEXTS = { running: 'Running', finished: 'Finished', stopped: 'Stopped: the endpoint was disabled' };

function Recover({ endpoint }) {
  const { busy, error, run } = useAction();
  const [recovery, setRecovery] = useState(undefined);
  const [failure, setFailure] = useState(undefined);
  useEffect(() => {
    if (recovery?.status !== 'running') return undefined;
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const { data } = await send(`/${endpoint.id}/recoveries/${recovery.id}`, { signal: abort.signal });
        setRecovery(data);
      } catch (caught) {
        if (caught instanceof RequestError) setFailure(caught.message);
        else if (caught.name !== 'AbortError') throw caught;
      }
    }, POLL_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [recovery]);
  const start = (event) => {
    event.preventDefault();
    const since = new Date(new FormData(event.currentTarget).get('since'));
    if (Number.isNaN(since.getTime())) return;
    run(async () => {
      setFailure(undefined);
      setRecovery(
        (await send(`/${endpoint.id}/recover`, { method: 'POST', body: { since: since.toISOString() } })).data,
      );
    });
  };
  const { keepDeliveriesDays } = link.value;
  return html`<section>
    <h2>Recover failed deliveries</h2>
    <p class="soft">Resends every delivery that failed since a given time, for example after an outage of your server.</p>
    <form onSubmit=${start}>
      <${Field} id="since" label="Failed since" error=${error?.details.since}
        hint=${`Deliveries are kept for ${keepDeliveriesDays} days.`}
        render=${(
          given,
        ) => html`<input ...${given} name="since" type="datetime-local" required defaultValue=${toInputValue(Date.now() - HOUR_MS)}
          min=${toInputValue(Date.now() - keepDeliveriesDays * DAY_MS)} max=${toInputValue(Date.now())} />`} />
      <button disabled=${busy || !endpoint.enabled || recovery?.status === 'running'}>Send again</button>
    </form>
    <${Notice} kind="bad">${failure ?? (error && !error.details.since ? error.message : undefined)}<//>
    <div role="status">${
      recovery &&
      html`<p>${RECOVERY_TEXTS[recovery.status]}: ${recovery.resent} of ${recovery.total} deliveries are on their way again.</p>
      ${recovery.total > 0 && html`<progress max=${recovery.total} value=${recovery.resent} aria-label="Progress of the recovery"></progress>`}`
    }</div>
  </section>`;
}

function Explain({ endpoint }) {
  const { busy, error, run } = useAction();
  const [found, setFound] = useState(undefined);
  const explain = (event) => {
    event.preventDefault();
    const id = String(new FormData(event.currentTarget).get('event')).trim();
    setFound(undefined);
    run(async () => setFound((await send(`/${endpoint.id}/explain?event=${encodeURIComponent(id)}`)).data));
  };
  const problem =
    error &&
    (error.status === 404
      ? 'Nothing is known about this event. Events that matched no endpoint are not stored.'
      : error.message);
  return html`<section>
    <h2>Why was an event not delivered?</h2>
    <form onSubmit=${explain}>
      <${Field} id="event" label="Id of the event, or of one of your deliveries" error=${problem}
        render=${(given) => html`<input ...${given} name="event" required spellcheck="false" autocomplete="off" placeholder="65f0c1d2e3a4b5c6d7e8f901" />`} />
      <button disabled=${busy}>Explain</button>
    </form>
    <div role="status">${
      found &&
      html`<div class="notice info"><p><strong>${found.message}</strong></p>
      ${found.name && html`<p>Event: <code>${found.name}</code></p>`}
      ${found.delivery && html`<p>The delivery is ${found.delivery.status}, after ${found.delivery.attempts} ${found.delivery.attempts === 1 ? 'attempt' : 'attempts'}.</p>`}</div>`
    }</div>
  </section>`;
}

/** Tests the endpoint, recovers failed deliveries, and explains what was not delivered. */
export function Tools({ endpoint, onSent }) {
  return html`
    ${!endpoint.enabled && html`<p class="notice warn">Enable the endpoint to send to it.</p>`}
    <${Test} endpoint=${endpoint} onSent=${onSent} />
    <${Recover} endpoint=${endpoint} />
    <${Explain} endpoint=${endpoint} />
  `;
}
