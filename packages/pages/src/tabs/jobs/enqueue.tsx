import { useRef, useState } from 'preact/hooks';
import {
  allowLeaving,
  call,
  FormField,
  focusFirstError,
  Loaded,
  Nothing,
  navigate,
  Page,
  place,
  setParams,
  showToast,
  toRequestError,
  useLeaveGuard,
} from '../../console/kit.ts';
import { jobsHref, useOverview } from './status.tsx';
import type { JobKind } from './types.ts';

const EMPTY = { input: '{}', runAt: '', uniqueKey: '' };
const FIELDS = ['job', 'input', 'runAt', 'uniqueKey'];

type Draft = typeof EMPTY;
type FieldErrors = Readonly<Record<string, string>>;

/** Why the job was not enqueued. `errors`: messages for fields. */
interface Problem {
  message?: string;
  errors: FieldErrors;
}

/** The body of the request. @throws SyntaxError if the input is not JSON */
function readBody({ name, hasInput }: JobKind, { input, runAt, uniqueKey }: Draft) {
  return {
    job: name,
    input: hasInput && input.trim() !== '' ? JSON.parse(input) : undefined,
    // The field has no time zone: its value is in that of the browser.
    runAt: runAt === '' ? undefined : new Date(runAt).toISOString(),
    uniqueKey: uniqueKey || undefined,
  };
}

/** Whether the form shows an error beside one of its fields. */
const hasFieldError = (errors: FieldErrors) =>
  Object.keys(errors).some((path) => FIELDS.includes(path.replace(/\..*/, '')));

/** The fields for the input and the time, and for a key. */
function Fields(props: { kind: JobKind; draft: Draft; errors: FieldErrors; onChange: (draft: Draft) => void }) {
  const { kind, draft, errors, onChange } = props;
  const change = (name: keyof Draft) => (event: { currentTarget: { value: string } }) =>
    onChange({ ...draft, [name]: event.currentTarget.value });
  return (
    <>
      <FormField form="enqueue" name="input" label="Input (JSON)" errors={errors}>
        {(control) => (
          <textarea
            {...control}
            rows={6}
            spellcheck={false}
            disabled={!kind.hasInput}
            value={kind.hasInput ? draft.input : ''}
            placeholder={kind.hasInput ? undefined : 'This job has no input'}
            onInput={change('input')}
          ></textarea>
        )}
      </FormField>
      <FormField
        form="enqueue"
        name="runAt"
        label="Run at"
        hint="In the time zone of this browser. Empty: now."
        errors={errors}
      >
        {(control) => <input {...control} type="datetime-local" value={draft.runAt} onInput={change('runAt')} />}
      </FormField>
      <FormField
        form="enqueue"
        name="uniqueKey"
        label="Unique key"
        hint="At most one job with this key waits or runs."
        errors={errors}
      >
        {(control) => <input {...control} maxlength={200} value={draft.uniqueKey} onInput={change('uniqueKey')} />}
      </FormField>
    </>
  );
}

/** Stores a job and shows it. @throws RequestError; SyntaxError if the input is not JSON */
async function enqueueJob(kind: JobKind, draft: Draft) {
  const { data } = await call<{ id: string; created: boolean }>('/jobs/runs', {
    method: 'POST',
    body: readBody(kind, draft),
  });
  showToast(data.created ? 'Enqueued' : 'A job with this key is already waiting or running');
  allowLeaving();
  await navigate(jobsHref({}, data.id));
}

const describeProblem = (error: unknown): Problem =>
  error instanceof SyntaxError
    ? { errors: { input: `The input must be JSON: ${error.message}` } }
    : { message: toRequestError(error).message, errors: toRequestError(error).details };

/** The form. `kind`: the one of the declared jobs that is chosen. */
function EnqueueForm({ declared, kind }: { declared: JobKind[]; kind: JobKind }) {
  const [draft, setDraft] = useState(EMPTY);
  const [{ errors, message }, setProblem] = useState<Problem>({ errors: {} });
  const [isRunning, setRunning] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useLeaveGuard(draft.input !== EMPTY.input || draft.runAt !== '' || draft.uniqueKey !== '');
  const submit = async (event: Event) => {
    event.preventDefault();
    setRunning(true);
    try {
      await enqueueJob(kind, draft);
    } catch (error) {
      setRunning(false);
      setProblem(describeProblem(error));
      focusFirstError(form.current);
    }
  };
  return (
    <form class="jobs-form" aria-label="Enqueue a job" ref={form} onSubmit={submit}>
      {message && !hasFieldError(errors) && (
        <p class="banner bad" role="alert">
          {message}
        </p>
      )}
      <FormField form="enqueue" name="job" label="Job" hint={kind.description} errors={errors}>
        {(control) => (
          <select
            {...control}
            value={kind.name}
            onChange={(event) => setParams({ job: event.currentTarget.value }, { replace: true })}
          >
            {declared.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </FormField>
      <Fields kind={kind} draft={draft} errors={errors} onChange={setDraft} />
      <p>
        <button type="submit" class="primary" disabled={isRunning}>
          Enqueue
        </button>
      </p>
    </form>
  );
}

/** Enqueues a job. Its kind is in the address. */
export function EnqueuePage() {
  const wanted = place.value.params.get('job');
  return (
    <Page title="Enqueue a job">
      <Loaded from={useOverview()}>
        {({ kinds }) => {
          const declared = kinds.filter(({ isDeclared }) => isDeclared);
          const kind = declared.find(({ name }) => name === wanted) ?? declared[0];
          if (kind !== undefined) return <EnqueueForm declared={declared} kind={kind} />;
          return (
            <Nothing title="This app declares no jobs">
              <p>Only jobs that the app declares can be enqueued.</p>
            </Nothing>
          );
        }}
      </Loaded>
    </Page>
  );
}
