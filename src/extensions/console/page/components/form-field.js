import { html } from 'htm/preact';

/** The errors of a field: of its own name, and of values within it such as `input.url`. */
function errorsOf(errors, field) {
  return Object.entries(errors)
    .filter(([name]) => name === field || name.startsWith(`${field}.`))
    .map(([name, text]) => (name === field ? text : `${name}: ${text}`));
}

/**
 * A field of a form: its label, control, errors and hint.
 *
 * @param {{ form: string, name: string, label: string, hint?: any, errors: Record<string, string>, children: (control: object) => any }} props
 *   `form`: begins the ids of the fields; `errors`: the `details` of an error of the server; `children`: returns the control, with the
 *   attributes that connect it to the other parts
 * @example html`<${FormField} form="invite" name="email" label="E-mail" errors=${errors}>
 *   ${(control) => html`<input ...${control} value=${email} onInput=${change} />`}
 * <//>`
 */
export function FormField({ form, name, label, hint, errors, children }) {
  const id = `${form}-${name}`;
  const texts = errorsOf(errors, name);
  const control = {
    id,
    'aria-invalid': texts.length > 0 ? 'true' : undefined,
    'aria-describedby': hint ? `${id}-errors ${id}-hint` : `${id}-errors`,
  };
  return html`<div class="form-field">
    <label for=${id}>${label}</label>
    ${children(control)}
    <div id=${`${id}-errors`} class="field-error" role="alert">${texts.map((text) => html`<p key=${text}>${text}</p>`)}</div>
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
  </div>`;
}

/** Moves the focus to the first field of a form that has an error. @param {HTMLFormElement | null} form */
export function focusFirstError(form) {
  requestAnimationFrame(() => form?.querySelector('[aria-invalid="true"]')?.focus());
}
