import {
  ActionButton,
  call,
  Facts,
  FormField,
  focusFirstError,
  html,
  Loaded,
  navigate,
  Page,
  Section,
  showToast,
  Time,
  useLoaded,
} from 'belfry/console';
import { useRef, useState } from 'preact/hooks';
import { DeviceState } from './devices.js';
import { PLATFORMS, PUSH, UserLink } from './outcome.js';
import { PushResults } from './results.js';

/** The interval in ms at which the device and its pushes are read. */
const READ_EVERY_MS = 1500;

/** A form that sends a test to the device. */
function TestForm({ path, onSent }) {
  const [draft, setDraft] = useState({ title: 'Test', body: 'This is a test from the console.' });
  const [{ errors, message }, setProblem] = useState({ errors: {} });
  const [isRunning, setRunning] = useState(false);
  const form = useRef(null);
  const change = (name) => (event) => setDraft({ ...draft, [name]: event.target.value });
  const send = async (event) => {
    event.preventDefault();
    setRunning(true);
    try {
      const { data } = await call(`${path}/test`, {
        method: 'POST',
        body: { title: draft.title, body: draft.body || undefined },
      });
      const error = data.results[0]?.error;
      setProblem({ errors: {} });
      showToast(error === undefined ? `Test: ${data.status}` : `Test: ${error}`, {
        kind: error === undefined ? 'done' : 'error',
      });
      await onSent();
    } catch (error) {
      setProblem({ message: error.message, errors: error.details ?? {} });
      focusFirstError(form.current);
    }
    setRunning(false);
  };
  return html`<form class="push-form" aria-label="Send a test" ref=${form} onSubmit=${send}>
    ${message && html`<p class="banner bad" role="alert">${message}</p>`}
    <${FormField} form="test" name="title" label="Title" errors=${errors}>
      ${(control) => html`<input ...${control} required maxlength="250" value=${draft.title} onInput=${change('title')} />`}
    <//>
    <${FormField} form="test" name="body" label="Body" errors=${errors}>
      ${(control) => html`<input ...${control} maxlength="2000" value=${draft.body} onInput=${change('body')} />`}
    <//>
    <button type="submit" disabled=${isRunning}>Send a test</button>
  </form>`;
}

function Pushes({ pushes }) {
  if (pushes.length === 0) return html`<p class="soft">No push has been sent to this device in the last 30 days.</p>`;
  return html`<${PushResults} pushes=${pushes} />`;
}

/** One device with its newest pushes. It can be tested and removed. */
export function DevicePage({ id }) {
  const path = `/push/devices/${encodeURIComponent(id)}`;
  const [isRemoved, setRemoved] = useState(false);
  const loaded = useLoaded(path, { everyMs: isRemoved ? undefined : READ_EVERY_MS });
  const { data: device } = loaded;
  const remove = async () => {
    setRemoved(true);
    try {
      await call(path, { method: 'DELETE' });
    } catch (error) {
      setRemoved(false);
      throw error;
    }
    await navigate(`${PUSH}/devices`);
  };
  const name = device && (device.name ?? PLATFORMS[device.platform]);
  const question = {
    title: `Remove “${name}”?`,
    text: 'It receives no further messages until the app registers it again, which most apps do when they are opened.',
    action: 'Remove',
    isDangerous: true,
  };
  return html`<${Page}
    title=${name ?? 'Device'}
    back=${{ href: `${PUSH}/devices`, label: 'Devices' }}
    intro=${device && html`<${DeviceState} state=${device.state} />`}
    actions=${device && html`<${ActionButton} kind="danger quiet" run=${remove} confirm=${question} done="Removed">Remove<//>`}
  >
    <${Loaded} from=${loaded}>
      ${() => html`<${Facts}
          of=${[
            ['User', html`<${UserLink} id=${device.user} />`],
            ['Platform', `${PLATFORMS[device.platform]}${device.isSimulated ? ', simulated' : ''}`],
            ['App version', device.appVersion],
            ['Locale', device.locale],
            ['Token', html`<code>${device.token}</code>`],
            ['Registered', html`<${Time} value=${device.createdAt} />`],
            ['Last seen', html`<${Time} value=${device.lastSeenAt} />`],
            ['Id', html`<code>${device.id}</code>`],
          ]}
        />
        ${
          device.state === 'expired' &&
          html`<p class="banner warn push-note">The session of this device has expired. The next push removes the device instead of reaching it.</p>`
        }
        <${Section} title="Send a test"><${TestForm} path=${path} onSent=${loaded.reload} /><//>
        <${Section} title="Newest pushes"><${Pushes} pushes=${device.pushes} /><//>`}
    <//>
  <//>`;
}
