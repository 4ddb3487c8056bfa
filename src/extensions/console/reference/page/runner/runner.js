import { app, Choice, Code, confirmAction, html, Icon, Time } from 'belfry/console';
import { useEffect, useRef, useState } from 'preact/hooks';
import { caller, callerToken } from './caller.js';
import { CallerButton } from './caller-dialog.js';
import { addToHistory, clearHistory, history } from './history.js';
import {
  bodySchema,
  buildRequest,
  checkValues,
  initialValues,
  isJsonType,
  secretMembersOf,
  valuesForHistory,
} from './request.js';
import { RequestForm } from './request-form.js';
import { ResponseView } from './response.js';
import { clientSample, curlSample, fetchSample } from './samples.js';
import { sendRequest } from './send.js';

const SAMPLES = [
  ['curl', 'curl', curlSample],
  ['fetch', 'fetch', fetchSample],
  ['client', 'Typed client', clientSample],
];
const SAMPLE_KEY = 'belfry.console.reference.sample';

/** Whether the success of an operation is a stream that stays open. */
const isStream = ({ responses }) =>
  Object.values(responses).some(({ content }) => content?.['text/event-stream'] !== undefined);

/** The code that sends the request of the form. */
function Samples({ operation, request, values, document }) {
  const [chosen, setChosen] = useState(localStorage.getItem(SAMPLE_KEY) ?? 'curl');
  const [id, label, create] = SAMPLES.find(([one]) => one === chosen) ?? SAMPLES[0];
  const choose = (one) => {
    localStorage.setItem(SAMPLE_KEY, one);
    setChosen(one);
  };
  const text =
    id === 'client' ? create(operation, request, values, document) : create(operation, request, location.origin);
  return html`<section class="reference-samples" aria-label="Code">
    <${Choice} label="Language of the code" options=${SAMPLES} value=${id} onChange=${choose} />
    <${Code} text=${text} label=${`Code: ${label}`} />
  </section>`;
}

/** Requests that were sent in this browser tab. */
function History({ operation, onRestore }) {
  const entries = history.value.filter((one) => one.operation === operation.id);
  if (entries.length === 0) return null;
  return html`<details class="reference-nested">
    <summary>Sent before <span class="badge-count">${entries.length}</span></summary>
    <ul class="reference-history">
      ${entries.map(
        (entry) => html`<li key=${entry.at}>
          <button type="button" class="plain" onClick=${() => onRestore(entry.values)} title="Fill in the form with this request">
            ${entry.status || 'failed'}
          </button>
          <code>${entry.path}</code><span class="soft">${entry.ms} ms · <${Time} value=${entry.at} /></span>
        </li>`,
      )}
    </ul>
    <p class="soft">
      Without secret values. <button type="button" class="plain" onClick=${clearHistory}>Clear the history of all routes</button>
    </p>
  </details>`;
}

/** Asks before a request that deletes data in production, or that needs a recent sign-in. */
async function confirmSending({ method, path, summary, raw }) {
  const isDangerous = method === 'DELETE' || (method !== 'GET' && raw['x-recent-sign-in'] === true);
  if (app.value.mode !== 'production' || !isDangerous) return true;
  return confirmAction({
    title: `${summary}?`,
    text: `${method} ${path} takes effect in production, as: ${caller().label}.`,
    action: 'Send request',
    isDangerous: true,
  });
}

/** Sends requests, and keeps the newest result. */
function useRunner(operation, document) {
  const [state, setState] = useState({ isSending: false, received: undefined, error: undefined });
  const running = useRef();
  useEffect(() => () => running.current?.abort(), []);
  const send = async (values) => {
    if (!(await confirmSending(operation))) return;
    const abort = new AbortController();
    running.current = abort;
    setState((before) => ({ ...before, isSending: true, error: undefined }));
    const secret = isJsonType(values.type) ? secretMembersOf(bodySchema(operation, values.type), document) : [];
    const kept = valuesForHistory(values, secret);
    const entry = { operation: operation.id, method: operation.method, values: kept, at: new Date().toISOString() };
    const { path } = buildRequest(operation, { ...values, ...kept });
    try {
      const received = await sendRequest(buildRequest(operation, values), callerToken(), abort.signal);
      addToHistory({ ...entry, path, status: received.status, ms: received.ms });
      setState({ isSending: false, received, error: undefined });
    } catch (error) {
      const isCancelled = error.name === 'AbortError';
      if (!isCancelled) addToHistory({ ...entry, path, status: 0, ms: 0 });
      const text = isCancelled ? 'The request was cancelled.' : `There is no response: ${error.message}`;
      setState({ isSending: false, received: undefined, error: text });
    }
  };
  return { ...state, send, cancel: () => running.current?.abort() };
}

/**
 * Sends requests of an operation to the app, and shows the code for them.
 *
 * @param {{ operation: object, document: object, canStartSession: boolean }} props
 */
export function Runner({ operation, document, canStartSession }) {
  const [values, setValues] = useState(() => initialValues(operation, document));
  const [formKey, setFormKey] = useState(0);
  const [errors, setErrors] = useState({});
  const { isSending, received, error, send, cancel } = useRunner(operation, document);
  const form = useRef(null);
  const replaceValues = (changes) => {
    const next = { ...values, ...changes };
    setValues(next);
    setFormKey(formKey + 1);
    setErrors({});
    return next;
  };
  const submit = (event) => {
    event.preventDefault();
    const found = checkValues(operation, values);
    setErrors(found);
    if (Object.keys(found).length === 0) send(values);
    else requestAnimationFrame(() => form.current?.querySelector('[aria-invalid="true"]')?.focus());
  };
  const result = useRef(null);
  useEffect(() => {
    if (received !== undefined) result.current?.scrollIntoView({ block: 'nearest' });
  }, [received]);
  const lastTag = received?.headers.find(([name]) => name === 'etag')?.[1];
  const request = buildRequest(operation, values);
  const isWriteInProduction = app.value.mode === 'production' && operation.method !== 'GET';
  const hasPages = operation.parameters.some(({ name }) => name === 'after');
  const showNext = (after) => send(replaceValues({ query: { ...values.query, after, page: '' } }));
  return html`<div class="reference-runner">
    <form ref=${form} class="reference-form" aria-label="Request" onSubmit=${submit} novalidate>
      <header>
        <div>
          <h2>Try it</h2>
          ${isWriteInProduction && html`<p class="soft">Takes effect in production.</p>`}
        </div>
        <${CallerButton} canStartSession=${canStartSession} />
      </header>
      <${RequestForm}
        key=${formKey}
        operation=${operation}
        document=${document}
        values=${values}
        errors=${errors}
        lastTag=${lastTag}
        onChange=${setValues}
      />
      ${
        isStream(operation)
          ? html`<p class="soft">The response is a stream that stays open. Read it with the command below.</p>`
          : html`<p class="reference-send">
              <button class=${operation.method === 'DELETE' ? 'danger' : 'primary'} disabled=${isSending} aria-busy=${isSending ? 'true' : undefined}>
                <${Icon} name="bolt" />${isSending ? 'Sending…' : 'Send request'}
              </button>
              ${isSending && html`<button type="button" onClick=${cancel}>Cancel</button>`}
              <button type="button" class="plain" onClick=${() => replaceValues(initialValues(operation, document))}>Reset</button>
            </p>`
      }
    </form>
    ${error !== undefined && html`<p class="banner bad" role="alert">${error}</p>`}
    ${
      received !== undefined &&
      html`<div ref=${result}>
        <${ResponseView} received=${received} onNext=${hasPages ? showNext : undefined} />
      </div>`
    }
    <${Samples} operation=${operation} request=${request} values=${values} document=${document} />
    <${History} operation=${operation} onRestore=${replaceValues} />
  </div>`;
}
