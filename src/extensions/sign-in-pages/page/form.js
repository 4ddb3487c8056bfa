import { element, runOnce } from './dom.js';
import { texts } from './texts.js';

let created = 0;

function createControl({ name, type = 'text', values, required, value, ...attributes }, id) {
  const shared = { id, name, required, 'aria-describedby': `${id}-hint ${id}-error` };
  if (type === 'select') {
    const options = values.map((each) => element('option', { value: each }, each));
    return element('select', shared, element('option', { value: '' }, texts.choose), ...options);
  }
  const { autocomplete, inputmode, maxlength, readonly } = attributes;
  return element('input', { ...shared, type, value, autocomplete, inputmode, maxlength, readonly });
}

/** Creates a field with its label, its hint and a place for its error. */
function createField(declaration) {
  created += 1;
  const id = `field-${created}`;
  const control = createControl(declaration, id);
  const label = element('label', { for: id }, declaration.label);
  const hint = element('p.hint', { id: `${id}-hint` }, declaration.hint ?? '');
  const error = element('p.field-error', { id: `${id}-error` });
  const kind = declaration.type === 'checkbox' ? 'div.field.checkbox' : 'div.field';
  return { ...declaration, control, error, box: element(kind, {}, label, control, hint, error) };
}

function readValue({ type, control }) {
  if (type === 'checkbox') return control.checked;
  // Passwords may begin or end with spaces.
  const text = type === 'password' ? control.value : control.value.trim();
  if (text === '') return undefined;
  return type === 'number' ? Number(text) : text;
}

function showFieldError({ control, error }, text) {
  error.textContent = text;
  if (text === '') control.removeAttribute('aria-invalid');
  else control.setAttribute('aria-invalid', 'true');
}

/** Returns the messages about a field: those about parts of it (`address.city`) as well. */
function messageFor(name, details) {
  const found = Object.entries(details).filter(([key]) => key === name || key.startsWith(`${name}.`));
  return found.map(([, text]) => text).join(' ');
}

/**
 * Creates a form. Errors appear next to the field that the server names in `details`; the first of these fields gets the focus. Other errors
 * appear below the form.
 *
 * @param {{ fields: object[], submit: string, kind?: string, send: (values: object) => Promise<unknown> }} options
 *   a field has `name`, `label` and optionally `type`, `required`, `hint`, `values`, `value`, `autocomplete`, `inputmode`. Empty fields are
 *   left out of `values`
 */
export function createForm({ fields: declarations, submit, kind = 'primary', send }) {
  const fields = declarations.map(createField);
  const trigger = element(`button.${kind}`, { type: 'submit' }, submit);
  const problem = element('p.problem', { role: 'alert', hidden: true });
  // Browsers announce their own messages in a way that cannot be styled, and one at a time.
  const form = element('form', { novalidate: true }, ...fields.map(({ box }) => box), trigger, problem);

  function showErrors(details, general) {
    const shown = fields.map((field) => {
      const text = messageFor(field.name, details);
      showFieldError(field, text);
      return text === '' ? undefined : field;
    });
    const first = shown.find((field) => field !== undefined);
    const isNamed = (key) => fields.some(({ name }) => key === name || key.startsWith(`${name}.`));
    const others = Object.entries(details).filter(([key]) => !isNamed(key));
    const text = [general, ...others.map(([key, message]) => `${key}: ${message}`)].filter(Boolean).join(' ');
    problem.hidden = text === '';
    problem.textContent = text;
    (first?.control ?? (text === '' ? undefined : trigger))?.focus();
  }

  async function work() {
    const values = Object.fromEntries(fields.map((field) => [field.name, readValue(field)]));
    const missing = fields.filter(({ name, required }) => required && values[name] === undefined);
    const details = Object.fromEntries(missing.map(({ name }) => [name, texts.errors.required]));
    showErrors(details, missing.length > 1 ? texts.errors.fields : '');
    if (missing.length > 0) return;
    form.setAttribute('aria-busy', 'true');
    try {
      await send(values);
    } catch (error) {
      const known = error.details ?? {};
      const namesField = fields.some(({ name }) => messageFor(name, known) !== '');
      // The general message of a validation error says nothing that the fields do not say.
      showErrors(known, namesField && error.code === 'VALIDATION_ERROR' ? texts.errors.fields : error.message);
    } finally {
      form.removeAttribute('aria-busy');
    }
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    runOnce(trigger, work);
  });
  return form;
}

export const emailField = (options = {}) => ({
  name: 'email',
  label: texts.fields.email,
  type: 'email',
  autocomplete: 'username',
  inputmode: 'email',
  required: true,
  ...options,
});

export const passwordField = (options = {}) => ({
  name: 'password',
  label: texts.fields.password,
  type: 'password',
  autocomplete: 'current-password',
  required: true,
  ...options,
});

export const newPasswordField = (options = {}) =>
  passwordField({
    label: texts.fields.newPassword,
    autocomplete: 'new-password',
    hint: texts.hints.newPassword,
    ...options,
  });

/** A field for a code of an e-mail or an authenticator app. */
export const codeField = (options = {}) => ({
  name: 'code',
  label: texts.fields.code,
  autocomplete: 'one-time-code',
  inputmode: 'numeric',
  required: true,
  ...options,
});
