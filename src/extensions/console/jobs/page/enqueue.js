import {
  allowLeaving,
  call,
  FormField,
  focusFirstError,
  html,
  Loaded,
  Nothing,
  navigate,
  Page,
  place,
  setParams,
  showToast,
  useLeaveGuard,
} from 'belfry/console';
import { useContext, useRef, useState } from 'preact/hooks';
import { jobsHref, OverviewContext } from './status.js';

/** The body of the request. @throws SyntaxError if the input is not JSON */
function readBody({ job, hasInput, input, runAt, uniqueKey }) {
  return {
    job,
    input: hasInput && input.trim() !== '' ? JSON.parse(input) : undefined,
    // The field has no time zone: its value is in that of the browser.
    runAt: runAt === '' ? undefined : new Date(runAt).toISOString(),
    uniqueKey: uniqueKey || undefined,
  };
}

const EMPTY = { input: '{}', runAt: '', uniqueKey: '' };
const FIELDS = ['job', 'input', 'runAt', 'uniqueKey'];

/** Whether the form shows an error beside one of its fields. */
const hasFieldError = (errors) => Object.keys(errors).some((path) => FIELDS.includes(path.split('.')[0]));

/** The form. @param {{ declared: any[] }} props the declared jobs, of which there is at least one */
function EnqueueForm({ declared }) {
  const wanted = place.value.params.get('job');
  const kind = declared.find(({ name }) => name === wanted) ?? declared[0];
  const [draft, setDraft] = useState(EMPTY);
  const [{ errors, message }, setProblem] = useState({ errors: {} });
  const [isRunning, setRunning] = useState(false);
  const form = useRef(null);
  useLeaveGuard(Object.keys(EMPTY).some((name) => draft[name] !== EMPTY[name]));
  const change = (name) => (event) => setDraft({ ...draft, [name]: event.target.value });
  const fail = (problem) => {
    setProblem(problem);
    focusFirstError(form.current);
  };
  const enqueue = async (event) => {
    event.preventDefault();
    let body;
    try {
      body = readBody({ ...draft, job: kind.name, hasInput: kind.hasInput });
    } catch (error) {
      fail({ errors: { input: `The input must be JSON: ${error.message}` } });
      return;
    }
    setRunning(true);
    try {
      const { data } = await call('/jobs/runs', { method: 'POST', body });
      showToast(data.created ? 'Enqueued' : 'A job with this key is already waiting or running');
      allowLeaving();
      await navigate(jobsHref({}, data.id));
    } catch (error) {
      setRunning(false);
      fail({ message: error.message, errors: error.details ?? {} });
    }
  };
  const chooseKind = (event) => setParams({ job: event.target.value }, { replace: true });
  return html`<form class="jobs-form" aria-label="Enqueue a job" ref=${form} onSubmit=${enqueue}>
    ${message && !hasFieldError(errors) && html`<p class="banner bad" role="alert">${message}</p>`}
    <${FormField} form="enqueue" name="job" label="Job" hint=${kind.description} errors=${errors}>
      ${(control) => html`<select ...${control} value=${kind.name} onChange=${chooseKind}>
        ${declared.map(({ name }) => html`<option key=${name} value=${name}>${name}</option>`)}
      </select>`}
    <//>
    <${FormField} form="enqueue" name="input" label="Input (JSON)" errors=${errors}>
      ${(control) => html`<textarea
        ...${control}
        rows="6"
        spellcheck=${false}
        disabled=${!kind.hasInput}
        value=${kind.hasInput ? draft.input : ''}
        placeholder=${kind.hasInput ? undefined : 'This job has no input'}
        onInput=${change('input')}
      ></textarea>`}
    <//>
    <${FormField} form="enqueue" name="runAt" label="Run at" hint="In the time zone of this browser. Empty: now." errors=${errors}>
      ${(control) => html`<input ...${control} type="datetime-local" value=${draft.runAt} onInput=${change('runAt')} />`}
    <//>
    <${FormField} form="enqueue" name="uniqueKey" label="Unique key" hint="At most one job with this key waits or runs." errors=${errors}>
      ${(control) => html`<input ...${control} maxlength="200" value=${draft.uniqueKey} onInput=${change('uniqueKey')} />`}
    <//>
    <p><button type="submit" class="primary" disabled=${isRunning}>Enqueue</button></p>
  </form>`;
}

/** Enqueues a job. Its kind is in the address. */
export function EnqueuePage() {
  const overview = useContext(OverviewContext);
  return html`<${Page} title="Enqueue a job">
    <${Loaded} from=${overview}>
      ${({ kinds }) => {
        const declared = kinds.filter(({ isDeclared }) => isDeclared);
        if (declared.length > 0) return html`<${EnqueueForm} declared=${declared} />`;
        return html`<${Nothing} title="This app declares no jobs"><p>Only jobs that the app declares can be enqueued.</p><//>`;
      }}
    <//>
  <//>`;
}
