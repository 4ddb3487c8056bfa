import type { ComponentChildren } from 'preact';

/** The attributes of a control that connect it to the label, errors and hint of its field. */
export interface ControlAttributes {
  id: string;
  'aria-invalid': 'true' | undefined;
  'aria-describedby': string;
}

/** The errors of a field: of its own name, and of values within it such as `input.url`. */
function errorsOf(errors: Readonly<Record<string, string>>, field: string) {
  return Object.entries(errors)
    .filter(([name]) => name === field || name.startsWith(`${field}.`))
    .map(([name, text]) => (name === field ? text : `${name}: ${text}`));
}

/**
 * A field of a form: its label, control, errors and hint.
 *
 * @example <FormField form="invite" name="email" label="E-mail" errors={errors}>
 *   {(control) => <input {...control} value={email} onInput={change} />}
 * </FormField>
 */
export function FormField({
  form,
  name,
  label,
  hint,
  errors,
  children,
}: {
  /** Begins the ids of the fields. */
  form: string;
  name: string;
  label: string;
  hint?: ComponentChildren;
  /** The `details` of an error of the server. */
  errors: Readonly<Record<string, string>>;
  /** Returns the control. */
  children: (control: ControlAttributes) => ComponentChildren;
}) {
  const id = `${form}-${name}`;
  const texts = errorsOf(errors, name);
  const control: ControlAttributes = {
    id,
    'aria-invalid': texts.length > 0 ? 'true' : undefined,
    'aria-describedby': hint ? `${id}-errors ${id}-hint` : `${id}-errors`,
  };
  return (
    <div class="form-field">
      <label for={id}>{label}</label>
      {children(control)}
      <div id={`${id}-errors`} class="field-error" role="alert">
        {texts.map((text) => (
          <p key={text}>{text}</p>
        ))}
      </div>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

/** Moves the focus to the first field of a form that has an error. */
export function focusFirstError(form: HTMLFormElement | null): void {
  requestAnimationFrame(() => form?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
}
