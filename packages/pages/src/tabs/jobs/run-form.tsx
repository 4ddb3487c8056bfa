import { useRef, useState } from 'preact/hooks';
import {
  allowLeaving,
  call,
  confirmAction,
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
  useLoaded,
} from '../../console/kit.ts';
import { confirmRun } from './confirm-run.tsx';
import { beginInput, type FieldErrors, type InputState, readInput } from './input-draft.ts';
import { InputEditor } from './input-editor.tsx';
import { jobsHref, useOverview } from './status.tsx';
import { texts } from './texts.ts';
import type { KindDescription, ListedKind } from './types.ts';

const { form: words } = texts;
const NO_OPTIONS = { runAt: '', uniqueKey: '' };

type Options = typeof NO_OPTIONS;

/** Why the job was not added. `errors`: messages for fields. */
interface Problem {
  message?: string;
  errors: FieldErrors;
}

/** The errors that no field of the form shows. */
function unplacedErrors({ input: form }: KindDescription, { isJson }: InputState, errors: FieldErrors) {
  const fields = [
    'runAt',
    'uniqueKey',
    ...(isJson ? ['input'] : (form?.fields ?? []).map(({ name }) => `input.${name}`)),
  ];
  return Object.entries(errors).filter(
    ([path]) => !fields.some((field) => path === field || path.startsWith(`${field}.`)),
  );
}

/** Stores a job and shows it. @throws RequestError */
async function addJob({ name }: KindDescription, input: unknown, { runAt, uniqueKey }: Options) {
  const { data } = await call<{ id: string; created: boolean }>('/jobs/runs', {
    method: 'POST',
    body: {
      job: name,
      input,
      // The field has no time zone: its value is in that of the browser.
      runAt: runAt === '' ? undefined : new Date(runAt).toISOString(),
      uniqueKey: uniqueKey || undefined,
    },
  });
  showToast(data.created ? words.added : words.exists);
  allowLeaving();
  await navigate(jobsHref({}, data.id));
}

/** The fields for the time and for a key. */
function OptionFields(props: { options: Options; errors: FieldErrors; onChange: (options: Options) => void }) {
  const { options, errors, onChange } = props;
  const change = (name: keyof Options) => (event: { currentTarget: { value: string } }) =>
    onChange({ ...options, [name]: event.currentTarget.value });
  return (
    <>
      <FormField form="run" name="runAt" label={words.runAt} hint={words.runAtHint} errors={errors}>
        {(control) => <input {...control} type="datetime-local" value={options.runAt} onInput={change('runAt')} />}
      </FormField>
      <details open={Object.hasOwn(errors, 'uniqueKey')}>
        <summary>{words.options}</summary>
        <FormField form="run" name="uniqueKey" label={words.uniqueKey} hint={words.uniqueKeyHint} errors={errors}>
          {(control) => <input {...control} maxlength={200} value={options.uniqueKey} onInput={change('uniqueKey')} />}
        </FormField>
      </details>
    </>
  );
}

/** The choice of the kind. @param isDirty whether another kind would replace what was entered */
function KindField({ declared, kind, isDirty }: { declared: ListedKind[]; kind: KindDescription; isDirty: boolean }) {
  const choose = async (control: HTMLSelectElement) => {
    const chosen = control.value;
    control.value = kind.name;
    const question = { title: words.leave, text: words.leaveText, action: words.leaveAction, isDangerous: true };
    if (!isDirty || (await confirmAction(question)))
      await setParams({ job: chosen, from: undefined }, { replace: true });
  };
  return (
    <FormField form="run" name="job" label={texts.job} hint={kind.description} errors={{}}>
      {(control) => (
        <select {...control} value={kind.name} onChange={(event) => choose(event.currentTarget)}>
          {declared.map(({ name, label }) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      )}
    </FormField>
  );
}

function ProblemBanner({ message, unplaced }: { message: string; unplaced: [string, string][] }) {
  return (
    <div class="banner bad summary" role="alert">
      <p>{message}</p>
      {unplaced.map(([path, text]) => (
        <p key={path}>
          {path}: {text}
        </p>
      ))}
    </div>
  );
}

/** The state of the form, and what submits it. @param begin the input of another job; undefined: none */
function useRunForm(kind: KindDescription, begin: unknown) {
  const [first] = useState(() => beginInput(kind.input, begin));
  const [state, setState] = useState(first);
  const [options, setOptions] = useState(NO_OPTIONS);
  const [problem, setProblem] = useState<Problem>({ errors: {} });
  const [isRunning, setRunning] = useState(false);
  const element = useRef<HTMLFormElement>(null);
  const isDirty = state !== first || options !== NO_OPTIONS;
  useLeaveGuard(isDirty);
  const fail = (next: Problem) => {
    setProblem(next);
    focusFirstError(element.current);
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    const { input, errors } = readInput(kind.input, state);
    if (Object.keys(errors).length > 0) return fail({ message: words.invalid, errors });
    setProblem({ errors: {} });
    if (!(await confirmRun(kind, { input, runAt: options.runAt }))) return;
    setRunning(true);
    try {
      await addJob(kind, input, options);
    } catch (error) {
      setRunning(false);
      const { message, details } = toRequestError(error);
      fail({ message, errors: details });
    }
  };
  return { state, setState, options, setOptions, isDirty, problem, isRunning, element, submit };
}

function RunForm({ declared, kind, begin }: { declared: ListedKind[]; kind: KindDescription; begin: unknown }) {
  const { state, setState, options, setOptions, isDirty, problem, isRunning, element, submit } = useRunForm(
    kind,
    begin,
  );
  const { message, errors } = problem;
  return (
    <form class="jobs-form" aria-label={texts.runJob} ref={element} onSubmit={submit} novalidate>
      {message !== undefined && <ProblemBanner message={message} unplaced={unplacedErrors(kind, state, errors)} />}
      <KindField declared={declared} kind={kind} isDirty={isDirty} />
      <InputEditor form={kind.input} state={state} errors={errors} onChange={setState} />
      <OptionFields options={options} errors={errors} onChange={setOptions} />
      <p>
        <button type="submit" class="primary" disabled={isRunning}>
          {options.runAt === '' ? words.runNow : words.runLater}
        </button>
      </p>
    </form>
  );
}

/** Reads the form of a kind, and the input of the job that runs again. */
function ChosenKind({ declared, name }: { declared: ListedKind[]; name: string }) {
  const from = place.value.params.get('from');
  const kind = useLoaded<KindDescription>(`/jobs/kinds/${encodeURIComponent(name)}`);
  const source = useLoaded<{ input: unknown }>(
    from === null ? undefined : `/jobs/runs/${encodeURIComponent(from)}/input`,
  );
  return (
    <Loaded from={kind}>
      {(description) =>
        from === null ? (
          <RunForm key={name} declared={declared} kind={description} begin={undefined} />
        ) : (
          <Loaded from={source}>
            {({ input }) => (
              <RunForm key={`${name} ${from}`} declared={declared} kind={description} begin={input ?? undefined} />
            )}
          </Loaded>
        )
      }
    </Loaded>
  );
}

/** Runs a job, now or later. Its kind is in the address. */
export function RunPage() {
  const wanted = place.value.params.get('job');
  return (
    <Page title={texts.runJob}>
      <Loaded from={useOverview()}>
        {({ kinds }) => {
          const declared = kinds.filter(({ isDeclared }) => isDeclared);
          const kind = declared.find(({ name }) => name === wanted) ?? declared[0];
          if (kind !== undefined) return <ChosenKind declared={declared} name={kind.name} />;
          return (
            <Nothing title={texts.none.title}>
              <p>{texts.none.onlyDeclared}</p>
            </Nothing>
          );
        }}
      </Loaded>
    </Page>
  );
}
