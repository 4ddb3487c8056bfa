import { html } from 'htm/preact';
import { Badge, Copyable, Time } from '../parts/controls.js';

const KINDS = { succeeded: 'good', failed: 'bad', pending: 'warn', sending: 'warn' };
const TEXTS = { succeeded: 'Succeeded', failed: 'Failed', pending: 'Waiting', sending: 'Sending' };

export function DeliveryBadge({ status }) {
  return html`<${Badge} kind=${KINDS[status]}>${TEXTS[status]}<//>`;
}

/** The result of an attempt: the status, or the error, and its duration. */
export function summarize({ statusCode, error, durationMs }) {
  const result = statusCode === null ? (error ?? '') : `Status ${statusCode}`;
  return durationMs === null || result === '' ? result : `${result} · ${durationMs} ms`;
}

/** Whether an error says more than the status of the response. */
const isInformative = (error, statusCode) => Boolean(error) && error !== `status ${statusCode}`;

const LONG_NUMBER = /\d{16}/;

function formatBody(payload, isTruncated) {
  if (isTruncated) return `${payload}…`;
  // Parsing would round a long number.
  if (LONG_NUMBER.test(payload)) return payload;
  try {
    return JSON.stringify(JSON.parse(payload), null, 2);
  } catch (error) {
    if (error instanceof SyntaxError) return payload;
    throw error;
  }
}

function Attempts({ log }) {
  if (log.length === 0) return undefined;
  return html`<h3>Attempts</h3>
    <ol class="attempts">${log.map((each, i) => html`<li key=${i}><${Time} at=${each.at} /> · <span>${summarize(each) || 'No response'}${each.statusCode !== null && isInformative(each.error, each.statusCode) ? ` · ${each.error}` : ''}</span></li>`)}</ol>`;
}

/** The body that was sent, the response and the attempts of a delivery. All of them may contain anything, so they are shown as text. */
export function DeliveryDetails({ delivery }) {
  const { messageId, payload, payloadTruncated, response, attemptLog, nextAttemptAt, error } = delivery;
  return html`<div class="details">
    ${isInformative(error, delivery.statusCode) && html`<p><strong>Error:</strong> ${error}</p>`}
    ${nextAttemptAt && html`<p>Next attempt <${Time} at=${nextAttemptAt} />.</p>`}
    <${Attempts} log=${attemptLog} />
    <h3>Request body</h3>
    ${
      payload === null
        ? html`<p class="soft">Not shown: you may no longer read this data.</p>`
        : html`<${Copyable} block text=${formatBody(payload, payloadTruncated)} label="the request body" />`
    }
    <h3>Response</h3>
    ${response ? html`<${Copyable} block text=${response} label="the response" />` : html`<p class="soft">No text.</p>`}
    <dl class="ids"><dt>Delivery</dt><dd><code>${delivery.id}</code></dd><dt>Message (webhook-id)</dt><dd><code>${messageId}</code></dd></dl>
  </div>`;
}

/** A delivery that has just been sent, in a notice. */
export function DeliveryResult({ delivery }) {
  return html`<div class="result">
    <p><${DeliveryBadge} status=${delivery.status} /> ${summarize(delivery) || 'No worker has sent it yet.'}</p>
    <${DeliveryDetails} delivery=${delivery} />
  </div>`;
}
