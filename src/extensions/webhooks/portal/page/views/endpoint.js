import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { ConfirmButton, Notice, Title, useAction, useData } from '../parts/controls.js';
import { EndpointForm } from '../parts/endpoint-form.js';
import { link, send } from '../session.js';
import { goTo, hrefOf } from '../window.js';
import { Deliveries } from './deliveries.js';
import { Health, StatusBadge } from './list.js';
import { NewSecret, newSecrets, Verify } from './secret.js';
import { Tools } from './tools.js';

const SECTIONS = {
  deliveries: 'Deliveries',
  tools: 'Test and repair',
  verify: 'Verify signatures',
  settings: 'Settings',
};

function SectionLinks({ id, current }) {
  return html`<nav class="sections" aria-label="Sections of the endpoint">
    ${Object.entries(SECTIONS).map(
      ([name, label]) =>
        html`<a key=${name} href=${hrefOf(id, name)} aria-current=${name === current ? 'page' : undefined}>${label}</a>`,
    )}
  </nav>`;
}

function Settings({ endpoint, onChange }) {
  const { id, enabled } = endpoint;
  const [saved, setSaved] = useState('');
  const edit = useAction();
  const other = useAction();
  const change = (action, body, text) =>
    action.run(async () => {
      setSaved('');
      const { data } = await send(`/${id}`, { method: 'PATCH', body });
      onChange(data);
      setSaved(text);
    });
  const rotate = () =>
    other.run(async () => {
      const { data } = await send(`/${id}/rotate-secret`, { method: 'POST', body: {} });
      const { secret, ...rest } = data;
      newSecrets.value = { ...newSecrets.value, [id]: secret };
      onChange(rest);
    });
  const remove = () =>
    other.run(async () => {
      await send(`/${id}`, { method: 'DELETE' });
      goTo();
    });
  const hours = link.value.secretGraceHours;
  return html`
    <${Notice} kind="good">${saved}<//>
    <${EndpointForm} key=${endpoint.updatedAt} endpoint=${endpoint} label="Save changes" busy=${edit.busy} error=${edit.error}
      onSubmit=${(values) => change(edit, values, 'The changes are saved.')} />
    <section class="actions">
      <h2>Secret</h2>
      <p class="soft">${
        hours > 0
          ? `After a rotation, messages carry the signatures of both secrets for ${hours} hours, so that you can switch in between.`
          : 'After a rotation, the old secret stops working at once.'
      }</p>
      <${ConfirmButton} label="Rotate the secret" question="Create a new secret? You see it once." confirm="Rotate" busy=${other.busy} onConfirm=${rotate} />
      <h2>Endpoint</h2>
      <${Notice} kind="bad">${other.error?.message}<//>
      <div class="row wrap">
        ${
          enabled
            ? html`<${ConfirmButton} key="disable" label="Disable" question="Stop sending events to this endpoint? Deliveries that wait are kept for some days."
              confirm="Disable" busy=${other.busy} onConfirm=${() => change(other, { enabled: false }, 'The endpoint is disabled.')} />`
            : html`<button key="enable" type="button" disabled=${other.busy} onClick=${() => change(other, { enabled: true }, 'The endpoint is enabled.')}>Enable</button>`
        }
        <${ConfirmButton} key="delete" label="Delete" kind="danger" question="Delete this endpoint and its log? This cannot be undone."
          confirm="Delete" busy=${other.busy} onConfirm=${remove} />
      </div>
    </section>
  `;
}

/** One endpoint with its sections. */
export function EndpointView({ id, section = 'deliveries' }) {
  const [changed, setChanged] = useState(undefined);
  const { data, error, reload } = useData(id, (signal) => send(`/${encodeURIComponent(id)}`, { signal }));
  const { busy, error: enableError, run } = useAction();
  const endpoint = changed ?? data?.data;
  const back =
    link.value.endpointId === null && html`<nav aria-label="Back"><a href=${hrefOf()}>← All endpoints</a></nav>`;
  if (endpoint === undefined) {
    return html`${back}
      ${
        error
          ? html`<${Title}>${error.status === 404 ? 'This endpoint does not exist' : 'The endpoint cannot be loaded'}<//>
          <${Notice} kind="bad">${error.status === 404 ? '' : error.message}<//>
          ${error.status !== 404 && html`<button type="button" onClick=${reload}>Try again</button>`}`
          : html`<p class="soft" role="status">Loading…</p>`
      }`;
  }
  const enable = () =>
    run(async () => setChanged((await send(`/${id}`, { method: 'PATCH', body: { enabled: true } })).data));
  const refresh = () => run(async () => setChanged((await send(`/${id}`)).data));
  const current = section in SECTIONS ? section : 'deliveries';
  return html`
    ${back}
    <div class="row spread top"><${Title}>${endpoint.url}<//><${StatusBadge} endpoint=${endpoint} /></div>
    ${endpoint.description && html`<p>${endpoint.description}</p>`}
    <${Health} endpoint=${endpoint} />
    ${!endpoint.enabled && html`<p><button type="button" class="primary" disabled=${busy} onClick=${enable}>Enable the endpoint</button></p>`}
    <${Notice} kind="bad">${enableError?.message}<//>
    <${NewSecret} id=${id} />
    <${SectionLinks} id=${id} current=${current} />
    <div class="card section">
      ${current === 'deliveries' && html`<${Deliveries} endpoint=${endpoint} onSettled=${refresh} />`}
      ${current === 'tools' && html`<${Tools} endpoint=${endpoint} onSent=${refresh} />`}
      ${current === 'verify' && html`<${Verify} endpoint=${endpoint} />`}
      ${current === 'settings' && html`<${Settings} endpoint=${endpoint} onChange=${setChanged} />`}
    </div>
  `;
}
