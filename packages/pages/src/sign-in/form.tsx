import { type ComponentChildren, createContext, type RefObject } from 'preact';
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { toRequestError } from '../kit/request.ts';
import { texts } from './texts.ts';
import { ProblemContext, RevealButton } from './view.tsx';

/** The values of a form by the names of its fields. Those of empty fields are undefined. */
export type FormValues = Readonly<Record<string, string | number | boolean | undefined>>;

/** The message about each field. */
type Details = Readonly<Record<string, string>>;

const DetailsContext = createContext<Details>({});

/** Whether a message is about a field, or about a part of it (`address.city`). */
const isAbout = (key: string, name: string) => key === name || key.startsWith(`${name}.`);

const messageFor = (name: string, details: Details) =>
  Object.entries(details)
    .filter(([key]) => isAbout(key, name))
    .map(([, text]) => text)
    .join(' ');

type Control = HTMLInputElement | HTMLSelectElement;

const findControls = (form: HTMLFormElement): Control[] =>
  [...form.elements].filter((one) => one instanceof HTMLInputElement || one instanceof HTMLSelectElement);

function readValue(control: Control): string | number | boolean | undefined {
  if (control instanceof HTMLInputElement && control.type === 'checkbox') return control.checked;
  // Passwords may begin or end with spaces.
  const text = control.autocomplete.endsWith('password') ? control.value : control.value.trim();
  if (text === '') return undefined;
  return control.type === 'number' ? Number(text) : text;
}

/** The errors that a form shows: next to its fields, and below it. */
interface Errors {
  details: Details;
  general: string;
  /** Whether the focus moves to the first field with an error, or else to the button. */
  movesFocus: boolean;
}

const NO_ERRORS: Errors = { details: {}, general: '', movesFocus: false };

function findMissing(controls: readonly Control[]): Errors | undefined {
  const missing = controls.filter((control) => control.required && readValue(control) === undefined);
  if (missing.length === 0) return undefined;
  const details = Object.fromEntries(missing.map(({ name }) => [name, texts.errors.required]));
  return { details, general: missing.length > 1 ? texts.errors.fields : '', movesFocus: true };
}

function describeError(error: unknown, names: readonly string[]): Errors {
  const { message, details, code } = toRequestError(error);
  const isNamed = (key: string) => names.some((name) => isAbout(key, name));
  const others = Object.entries(details).filter(([key]) => !isNamed(key));
  // The general message of a validation error says nothing that the fields do not say.
  const isSaid = code === 'VALIDATION_ERROR' && names.some((name) => messageFor(name, details) !== '');
  const general = [isSaid ? texts.errors.fields : message, ...others.map(([key, text]) => `${key}: ${text}`)];
  return { details, general: general.filter(Boolean).join(' '), movesFocus: true };
}

/**
 * A form. Errors appear next to the field that the server names in `details`; the first of these fields gets the focus. Other errors appear
 * below the form. `children` contain the fields.
 */
export function Form({
  submit,
  kind = 'primary',
  send,
  children,
}: {
  /** The text of the button. */
  submit: string;
  kind?: 'primary' | 'secondary' | 'danger';
  send: (values: FormValues) => Promise<unknown>;
  children: ComponentChildren;
}) {
  const form = useRef<HTMLFormElement>(null);
  const trigger = useRef<HTMLButtonElement>(null);
  const [errors, setErrors] = useState(NO_ERRORS);
  const [isRunning, setRunning] = useState(false);

  useLayoutEffect(() => {
    if (form.current === null || !errors.movesFocus) return;
    const first = findControls(form.current).find(({ name }) => messageFor(name, errors.details) !== '');
    (first ?? trigger.current)?.focus();
  }, [errors]);

  async function onSubmit(event: SubmitEvent) {
    event.preventDefault();
    if (form.current === null || isRunning) return;
    const controls = findControls(form.current);
    const missing = findMissing(controls);
    setErrors(missing ?? NO_ERRORS);
    if (missing !== undefined) return;
    setRunning(true);
    try {
      await send(Object.fromEntries(controls.map((control) => [control.name, readValue(control)])));
    } catch (error) {
      const names = controls.map(({ name }) => name);
      setErrors(describeError(error, names));
    } finally {
      setRunning(false);
    }
  }

  const showProblem = (general: string) => setErrors((shown) => ({ ...shown, general, movesFocus: false }));
  // Browsers announce their own messages in a way that cannot be styled, and one at a time.
  return (
    <form ref={form} noValidate aria-busy={isRunning || undefined} onSubmit={onSubmit}>
      <ProblemContext.Provider value={showProblem}>
        <DetailsContext.Provider value={errors.details}>{children}</DetailsContext.Provider>
      </ProblemContext.Provider>
      <button ref={trigger} type="submit" class={kind} aria-disabled={isRunning || undefined}>
        {submit}
      </button>
      <p class="problem" role="alert" hidden={errors.general === ''}>
        {errors.general}
      </p>
    </form>
  );
}

/** The inputs of fields. Each is an object of its own, because the types of attributes differ. */
const INPUTS = {
  text: { type: 'text' },
  email: { type: 'email', inputmode: 'email' },
  password: { type: 'password' },
  number: { type: 'number' },
  date: { type: 'date' },
  checkbox: { type: 'checkbox' },
} as const;

/** A password that can be read. Browsers may send texts that they check elsewhere. */
const REVEALED = { type: 'text', spellcheck: false, autocapitalize: 'off', autocorrect: 'off' } as const;

/** What a field of a form can have. */
export interface FieldProps {
  name: string;
  label: string;
  type?: keyof typeof INPUTS | 'select';
  required?: boolean;
  hint?: string;
  /** The choices of a `select`. */
  values?: readonly string[];
  /** What the field contains at first. */
  value?: string;
  autocomplete?: string;
  inputmode?: 'numeric' | 'text';
  onFocus?: (() => void) | undefined;
  /** Gets the input. */
  controlRef?: RefObject<HTMLInputElement | null>;
}

let created = 0;

/** A field with its label, its hint and a place for its error. */
export function Field({ label, hint, type = 'text', value, values = [], controlRef, ...attributes }: FieldProps) {
  const [id] = useState(() => `field-${++created}`);
  const [isRevealed, setRevealed] = useState(false);
  const container = useRef<HTMLDivElement>(null);
  // A password that was sent is not left readable on the screen.
  useLayoutEffect(() => {
    const form = isRevealed ? container.current?.closest('form') : undefined;
    const hide = () => setRevealed(false);
    form?.addEventListener('submit', hide);
    return () => form?.removeEventListener('submit', hide);
  }, [isRevealed]);
  const error = messageFor(attributes.name, useContext(DetailsContext));
  const connections = {
    id,
    'aria-describedby': `${id}-hint ${id}-error`,
    'aria-invalid': error === '' ? undefined : ('true' as const),
  };
  return (
    <div ref={container} class={type === 'checkbox' ? 'field checkbox' : 'field'}>
      <label for={id}>{label}</label>
      {type === 'select' ? (
        <select {...connections} name={attributes.name} required={attributes.required}>
          <option value="">{texts.choose}</option>
          {values.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      ) : (
        <input
          ref={controlRef}
          {...connections}
          {...(isRevealed ? REVEALED : INPUTS[type])}
          {...attributes}
          defaultValue={value}
        />
      )}
      {type === 'password' && (
        <RevealButton label={label} isRevealed={isRevealed} onClick={() => setRevealed(!isRevealed)} />
      )}
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
      <p class="field-error" id={`${id}-error`}>
        {error}
      </p>
    </div>
  );
}
