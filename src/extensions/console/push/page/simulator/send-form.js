import { call, FormField, focusFirstError, html, navigate, showToast } from 'belfry/console';
import { useRef, useState } from 'preact/hooks';
import { PUSH } from '../outcome.js';

/** The text of a message, by the names of its fields. */
const TEXT_FIELDS = {
  title: { label: 'Title', maxlength: 250 },
  body: { label: 'Body', maxlength: 2000, rows: 3 },
};
/** Fields that most messages leave out; the more common ones first. */
const OPTIONAL_FIELDS = {
  subtitle: { label: 'Subtitle', maxlength: 250 },
  url: { label: 'Opens URL', placeholder: '/posts/1' },
  image: { label: 'Image', placeholder: 'https://…' },
  badge: { label: 'Badge', type: 'number', min: 0 },
  group: { label: 'Group' },
  collapseId: { label: 'Collapse id', maxlength: 64 },
  icon: { label: 'Icon', placeholder: 'https://…' },
  channel: { label: 'Channel (Android)' },
  category: { label: 'Category (iOS)' },
  sound: { label: 'Sound', placeholder: 'default' },
  ttl: { label: 'Time to live in seconds', type: 'number', min: 0 },
  data: { label: 'Data (JSON)', placeholder: '{ "order": 1 }' },
};
const NUMBERS = new Set(['badge', 'ttl']);
const EXAMPLE = { title: 'Hello', body: 'This is a notification.' };

/** The message with the fields that are filled in. @throws SyntaxError if the data is not JSON */
function toContent(draft) {
  const filled = Object.entries(draft).filter(([, value]) => value !== '' && value !== false);
  const convert = (name, value) => {
    if (NUMBERS.has(name)) return Number(value);
    return name === 'data' ? JSON.parse(value) : value;
  };
  return Object.fromEntries(filled.map(([name, value]) => [name, convert(name, value)]));
}

/** Says how the push went, with a way to its page. */
function announce({ id, status, devices, results }) {
  const accepted = results.filter(({ ok }) => ok).length;
  const action = { label: 'Show', run: () => navigate(`${PUSH}/sends/${id}`) };
  showToast(status === 'queued' ? 'Queued' : `Accepted by ${accepted} of ${devices}`, { action });
}

/** A form that sends a message to all simulated devices. @param {{ devices: any[], onDone: () => Promise<void> }} props */
export function SendForm({ devices, onDone }) {
  const [draft, setDraft] = useState(EXAMPLE);
  const [{ errors, message }, setProblem] = useState({ errors: {} });
  const [isRunning, setRunning] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const form = useRef(null);
  const change = (name, value) => setDraft({ ...draft, [name]: value });
  const fail = (problem) => {
    setProblem(problem);
    if (Object.keys(problem.errors).some((name) => !Object.hasOwn(TEXT_FIELDS, name))) setOpen(true);
    focusFirstError(form.current);
  };
  const send = async (event) => {
    event.preventDefault();
    let content;
    try {
      content = toContent(draft);
    } catch (error) {
      fail({ errors: { data: `The data must be JSON: ${error.message}` } });
      return;
    }
    setRunning(true);
    try {
      const deviceIds = devices.map(({ id }) => id);
      const { data } = await call('/push/simulator/sends', { method: 'POST', body: { deviceIds, content } });
      setProblem({ errors: {} });
      announce(data);
      await onDone();
    } catch (error) {
      fail({ message: error.message, errors: error.details ?? {} });
    }
    setRunning(false);
  };
  const renderField = ([
    name,
    { label, ...attributes },
  ]) => html`<${FormField} key=${name} form="send" name=${name} label=${label} errors=${errors}>
    ${(control) => html`<${attributes.rows ? 'textarea' : 'input'} ...${control} ...${attributes} value=${draft[name] ?? ''} onInput=${(event) => change(name, event.target.value)} />`}
  <//>`;
  const known = { ...TEXT_FIELDS, ...OPTIONAL_FIELDS, priority: {}, silent: {} };
  const others = Object.entries(errors).filter(([name]) => !Object.hasOwn(known, name));
  return html`<form class="push-form" aria-labelledby="send-heading" ref=${form} onSubmit=${send} novalidate>
    <h2 id="send-heading">${devices.length > 1 ? `Send to all ${devices.length} devices` : 'Send a notification'}</h2>
    ${
      message &&
      Object.keys(errors).length === others.length &&
      html`<p class="banner bad push-wide" role="alert">${[message, ...others.map(([name, text]) => `${name}: ${text}`)].join(' · ')}</p>`
    }
    <div class="push-main">${Object.entries(TEXT_FIELDS).map(renderField)}</div>
    <details class="push-wide" open=${isOpen} onToggle=${(event) => setOpen(event.currentTarget.open)}>
      <summary>More options</summary>
      <div class="push-fields">
        ${Object.entries(OPTIONAL_FIELDS).map(renderField)}
        <${FormField} form="send" name="priority" label="Priority" errors=${errors}>
          ${(
            control,
          ) => html`<select ...${control} value=${draft.priority ?? ''} onChange=${(event) => change('priority', event.target.value)}>
            <option value="">High (default)</option>
            <option value="normal">Normal</option>
          </select>`}
        <//>
        <label class="check">
          <input type="checkbox" checked=${draft.silent === true} onChange=${(event) => change('silent', event.target.checked)} />
          Silent: the app gets the data, and nothing is shown
        </label>
      </div>
    </details>
    <button type="submit" class="primary push-wide" disabled=${devices.length === 0 || isRunning} aria-describedby=${devices.length === 0 ? 'send-missing' : undefined}>
      Send
    </button>
    ${
      devices.length === 0 &&
      html`<p class="soft push-wide" id="send-missing">There are no devices to send to. Add one first.</p>`
    }
  </form>`;
}
