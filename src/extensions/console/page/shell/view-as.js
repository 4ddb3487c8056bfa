import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { call } from '../api.js';
import { Dialog, openDialog, showError } from '../components/feedback.js';
import { Icon } from '../components/icons.js';
import { ReferencePicker } from '../components/reference-picker.js';
import { userResource, viewer } from '../data/schema.js';
import { setParams } from '../router.js';

/** The labels of users that have been chosen, so that the banner needs no further request. */
const labels = new Map();

/** The name of the viewer: `undefined` while the label of the user is not known yet. */
export function useViewerLabel() {
  const id = viewer();
  const [, setLoaded] = useState(0);
  const isUser = id !== undefined && id !== 'visitor' && id !== 'system';
  useEffect(() => {
    const users = userResource();
    if (!isUser || labels.has(id) || users === undefined) return;
    const query = new URLSearchParams({ q: id, limit: '1' });
    call(`/references/${encodeURIComponent(users.name)}?${query}`)
      .then(({ data }) => {
        labels.set(id, data.find((one) => one.id === id)?.label ?? id);
        setLoaded((count) => count + 1);
      })
      .catch(showError);
  }, [id]);
  if (!isUser) return id === 'visitor' ? 'a visitor' : undefined;
  return labels.get(id) ?? id;
}

/** The parameters that a change of the viewer must not keep: the position belongs to the list of the former viewer. */
const viewAs = (id) => setParams({ as: id, after: undefined });

function ViewerDialog({ close }) {
  const users = userResource();
  const choose = (id) => {
    close();
    viewAs(id);
  };
  return html`<${Dialog} title="View as…" onClose=${() => close()}>
    <p>See exactly what a viewer gets from the API. Nothing can be changed meanwhile.</p>
    <div class="choices">
      <button type="button" onClick=${() => choose(undefined)}>
        <b>Everything</b><span class="soft">All records and fields, as the system sees them</span>
      </button>
      <button type="button" onClick=${() => choose('visitor')}>
        <b>A visitor</b><span class="soft">A client that is not signed in</span>
      </button>
    </div>
    ${
      users &&
      html`<div class="field">
        <label for="viewer-picker">A user</label>
        <${ReferencePicker}
          id="viewer-picker"
          resource=${users.name}
          value=${null}
          onChange=${(id, label) => {
            if (label !== undefined) labels.set(id, label);
            choose(id);
          }}
        />
      </div>`
    }
  <//>`;
}

/** The switch in the header. */
export function ViewAsButton() {
  const label = useViewerLabel();
  const open = () => openDialog(ViewerDialog);
  return html`<button type="button" class=${`view-as ${label === undefined ? '' : 'active'}`} onClick=${open}>
    <${Icon} name="eye" /><span class="text">${label === undefined ? 'View as…' : `As ${label}`}</span>
  </button>`;
}

/** Says whose view is shown. */
export function ViewAsBanner() {
  const label = useViewerLabel();
  if (label === undefined) return null;
  return html`<div class="banner view-as-banner" role="status">
    <${Icon} name="eye" />
    <span>You see exactly what <b>${label}</b> gets from the API. Read-only.</span>
    <button type="button" class="plain" onClick=${() => viewAs(undefined)}>Show everything</button>
  </div>`;
}
