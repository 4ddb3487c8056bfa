import {
  ActionButton,
  bytesText,
  Code,
  call,
  DataTable,
  durationText,
  Facts,
  html,
  Loaded,
  Page,
  Section,
  Time,
  useLoaded,
} from 'belfry/console';
import { useState } from 'preact/hooks';
import { DeliveryState, endpointHref, HOME, Owner, outcomeText, UrlText } from './states.js';

const REFRESH_MS = 3000;

const headersText = (headers) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');

/** JSON with line breaks; undefined if the text is no JSON, or already has them. */
function formatJson(text) {
  try {
    const formatted = JSON.stringify(JSON.parse(text), null, 2);
    return formatted === text ? undefined : formatted;
  } catch {
    return undefined;
  }
}

function Body({ content: { body, isBodyCut } }) {
  const [isRaw, setRaw] = useState(false);
  const formatted = formatJson(body);
  return html`<${Code} text=${isRaw || formatted === undefined ? body : formatted} label="Body of the request" />
    <p class="soft webhooks-note">
      ${isBodyCut && 'The body is longer; this is its start. '}
      ${
        formatted !== undefined &&
        html`${isRaw ? 'As it is sent, byte for byte.' : 'Shown with line breaks, which the signed body does not have.'}
          <button type="button" class="plain" onClick=${() => setRaw(!isRaw)}>${isRaw ? 'Format' : 'Show as sent'}</button>`
      }
    </p>`;
}

function Content({ delivery, content }) {
  const { statusCode, endpoint } = delivery;
  return html`<${Section} title="Request">
      <p class="webhooks-request"><b>POST</b> <code>${endpoint.url}</code></p>
      ${
        content.headers === null
          ? html`<p class="soft">No attempt was made yet, so nothing is signed.</p>`
          : html`<${Code} text=${headersText(content.headers)} label="Headers of the last attempt" />
            <p class="soft webhooks-note">The headers of the last attempt. The signature is computed with the current secret, so it differs from what was sent before a rotation.</p>`
      }
      <${Body} content=${content} />
    <//>
    <${Section} title="Response">
      ${
        content.response === null
          ? html`<p class="soft">${statusCode === null ? 'The receiver did not respond.' : `Status ${statusCode}, without a body.`}</p>`
          : html`<p class="webhooks-status">Status ${statusCode}</p>
            ${content.response === '' ? html`<p class="soft">The response has no body.</p>` : html`<${Code} text=${content.response} label="Body of the response" />`}`
      }
      <p class="soft webhooks-note">The start of the body is stored, up to 1 KB. Headers of responses are not stored.</p>
    <//>`;
}

function HiddenContent({ delivery, onReveal }) {
  if (delivery.isEncrypted)
    return html`<${Section} title="Request and response">
      <p class="banner warn">
        <span>The body has values of encrypted fields, so it is stored encrypted. Showing it is recorded in the audit trail.</span>
        <${ActionButton} run=${onReveal}>Reveal<//>
      </p>
    <//>`;
  return html`<${Section} title="Request and response">
    <p class="banner warn">The owner of the endpoint may no longer read the data of this event, so it is neither sent again nor shown.</p>
  <//>`;
}

function Attempts({ attempts }) {
  if (attempts.length === 0) return html`<p class="soft">No attempt was made yet.</p>`;
  const longest = Math.max(1, ...attempts.map(({ durationMs }) => durationMs ?? 0));
  const rows = attempts.map((attempt, index) => ({ ...attempt, id: index + 1 }));
  return html`<${DataTable} label="Attempts" rows=${rows} columns=${[
    { name: 'number', label: 'Attempt', render: ({ id }) => id },
    { name: 'at', label: 'Time', render: ({ at }) => html`<${Time} value=${at} />` },
    {
      name: 'outcome',
      label: 'Result',
      render: ({ error, statusCode }) =>
        html`<span class=${error === null ? '' : 'bad-text'}>${outcomeText({ error, statusCode, durationMs: null })}</span>`,
    },
    {
      name: 'duration',
      label: 'Duration',
      render: ({ durationMs }) =>
        durationMs === null
          ? '–'
          : html`<span class="webhooks-duration"><i style=${{ width: `${Math.max(2, (durationMs / longest) * 100)}%` }}></i></span> ${durationText(durationMs)}`,
    },
  ]} />`;
}

/** A delivery: its request, its response, and each attempt. */
export function DeliveryPage({ id }) {
  const path = `/webhooks/deliveries/${encodeURIComponent(id)}`;
  const loaded = useLoaded(path, { everyMs: REFRESH_MS });
  const [revealed, setRevealed] = useState();
  const { data } = loaded;
  const retry = async () => {
    await call(`${path}/retry`, { method: 'POST' });
    await loaded.reload();
  };
  const reveal = async () => {
    setRevealed((await call(`${path}/reveal`, { method: 'POST' })).data.content ?? { isHidden: true });
  };
  const explain = data && `${HOME}/explain?${new URLSearchParams({ endpoint: data.endpoint.id, event: data.id })}`;
  const confirm = data?.status === 'succeeded' && {
    title: 'Send this delivery again?',
    text: 'It was delivered already. Its receiver gets the same message id, and should skip it.',
    action: 'Send again',
  };
  return html`<${Page}
    title=${data?.type ?? 'Delivery'}
    intro=${html`Delivery <code>${id}</code>`}
    back=${data ? { href: endpointHref(data.endpoint.id), label: 'Endpoint' } : { href: `${HOME}/deliveries`, label: 'Deliveries' }}
    actions=${
      data &&
      html`<a class="button" href=${explain}>Explain</a>
        <${ActionButton} kind="primary" run=${retry} confirm=${confirm || undefined} done="The delivery is sent again" disabled=${data.status === 'sending' || !data.endpoint.enabled}>Send again<//>`
    }
  >
    <${Loaded} from=${loaded}>
      ${(delivery) => html`<${Facts} of=${[
        ['Status', html`<${DeliveryState} delivery=${delivery} />`],
        ['Last attempt', outcomeText(delivery)],
        ['Next attempt', delivery.nextAttemptAt && html`<${Time} value=${delivery.nextAttemptAt} />`],
        [
          'Endpoint',
          html`<a href=${endpointHref(delivery.endpoint.id)}><${UrlText} url=${delivery.endpoint.url} /></a>`,
        ],
        ['Owner', html`<${Owner} id=${delivery.endpoint.owner} />`],
        ['Created', html`<${Time} value=${delivery.createdAt} />`],
        ['Size of the body', bytesText(delivery.bytes)],
        ['Message id', html`<code>${delivery.messageId}</code>`],
        ['Event id', html`<code>${delivery.eventId}</code>`],
      ]} />
      <${Section} title="Attempts"><${Attempts} attempts=${delivery.attemptLog} /><//>
      ${
        (revealed?.isHidden ? null : (revealed ?? delivery.content)) === null
          ? html`<${HiddenContent} delivery=${revealed?.isHidden ? { ...delivery, isEncrypted: false } : delivery} onReveal=${reveal} />`
          : html`<${Content} delivery=${delivery} content=${revealed ?? delivery.content} />`
      }`}
    <//>
  <//>`;
}
