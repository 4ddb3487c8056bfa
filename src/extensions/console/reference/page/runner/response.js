import { bytesText, Choice, copyText, html, Icon, Status } from 'belfry/console';
import { useState } from 'preact/hooks';
import { JsonView } from './json-view.js';

/** Longer texts are cut on the page; they can be copied or saved as a whole. */
const MAX_SHOWN = 200_000;

const kindOf = (status) => (status < 300 ? 'good' : status < 400 ? 'neutral' : status < 500 ? 'warn' : 'bad');

function Raw({ text }) {
  const isCut = text.length > MAX_SHOWN;
  return html`<pre class="reference-raw" tabindex="0" role="region" aria-label="Body of the response, as text"><code>${
    isCut ? text.slice(0, MAX_SHOWN) : text
  }</code></pre>
    ${isCut && html`<p class="soft">The first ${MAX_SHOWN.toLocaleString()} characters are shown.</p>`}`;
}

function saveBlob(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

function Headers({ headers }) {
  return html`<dl class="reference-headers">
    ${headers.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd><code>${value}</code></dd></div>`)}
  </dl>`;
}

function Body({ received, view }) {
  const { json, text, blob, bytes, type } = received;
  if (view === 'headers') return html`<${Headers} headers=${received.headers} />`;
  if (blob !== undefined)
    return html`<p class="reference-file">
      <span>${type || 'Unknown type'}, ${bytesText(bytes)}</span>
      <button type="button" onClick=${() => saveBlob(blob, 'response')}><${Icon} name="download" />Save as file</button>
    </p>`;
  if (text === undefined) return html`<p class="soft">The response has no body.</p>`;
  if (json !== undefined && view === 'tree')
    return html`<div class="reference-tree" tabindex="0" role="region" aria-label="Body of the response"><${JsonView} value=${json} /></div>`;
  return html`<${Raw} text=${json === undefined ? text : JSON.stringify(json, null, 2)} />`;
}

/** The result of a request: its status, time and size, its body and headers. */
export function ResponseView({ received, onNext }) {
  const { status, statusText, ms, bytes, json, text, headers } = received;
  const [view, setView] = useState('tree');
  const requestId = headers.find(([name]) => name === 'x-request-id')?.[1];
  const views = [
    ['tree', json === undefined ? 'Body' : 'JSON'],
    ...(json === undefined ? [] : [['raw', 'Text']]),
    ['headers', `Headers (${headers.length})`],
  ];
  const next = json?.meta?.next;
  return html`<section class="reference-response" aria-label="Response">
    <p class="reference-result" role="status">
      <${Status} kind=${kindOf(status)}>${status} ${statusText}<//>
      <span>${ms} ms</span><span>${bytesText(bytes)}</span>
      ${requestId && html`<span class="soft reference-request-id">request <code>${requestId}</code></span>`}
    </p>
    <div class="reference-bar">
      <${Choice} label="View of the response" options=${views} value=${view} onChange=${setView} />
      ${typeof next === 'string' && onNext && html`<button type="button" onClick=${() => onNext(next)}>Next page</button>`}
      ${text !== undefined && html`<button type="button" class="plain" onClick=${() => copyText(text)}><${Icon} name="copy" />Copy</button>`}
    </div>
    <${Body} received=${received} view=${view} />
  </section>`;
}
