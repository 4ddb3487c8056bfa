import { html } from 'htm/preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { FieldEditor } from '../editors/editor.js';
import { isEditable, toDraft, toInput } from '../editors/rules.js';
import { isSame } from '../format.js';
import { fieldValue } from '../schema.js';

/** Whether a value of an editor differs from the stored one. A value that is not valid yet does. */
function differs(field, value, saved) {
  try {
    return !isSame(toInput(field, value), toInput(field, toDraft(field, saved)));
  } catch {
    return true;
  }
}

/** Splits the errors of the server by field; `place.street` belongs to `place`. The others have no field. */
function splitErrors(resource, details) {
  const errors = {};
  const others = [];
  for (const [path, message] of Object.entries(details)) {
    const [name, ...rest] = path.split('.');
    const text = rest.length === 0 ? String(message) : `${rest.join('.')}: ${message}`;
    if (!resource.fields.some((field) => field.name === name)) others.push(`${path}: ${message}`);
    else errors[name] = Object.hasOwn(errors, name) ? `${errors[name]} · ${text}` : text;
  }
  return { errors, others };
}

const hasErrors = ({ errors, others, message }) =>
  Object.keys(errors).length > 0 || others.length > 0 || message !== undefined;

const NO_ERRORS = { errors: {}, others: [], message: undefined };

/**
 * The changes to a record that are not saved yet, and the errors of the last attempt.
 *
 * @param {any} record the stored record; an empty object for a new one
 * @param {boolean} isNew
 */
export function useDraft(resource, record, isNew) {
  const [draft, setDraft] = useState({});
  const [problems, setProblems] = useState(NO_ERRORS);
  const savedOf = (field) => fieldValue(record ?? {}, field.name);
  const draftOf = (field) =>
    Object.hasOwn(draft, field.name) ? draft[field.name] : toDraft(field, isNew ? undefined : savedOf(field));
  const without = (name) => Object.fromEntries(Object.entries(draft).filter(([key]) => key !== name));
  return {
    draft,
    problems,
    draftOf,
    savedOf,
    isDirty: Object.keys(draft).length > 0,
    isChanged: ({ name }) => Object.hasOwn(draft, name),
    change(field, value) {
      const isUndone = value === undefined || !differs(field, value, isNew ? undefined : savedOf(field));
      setDraft(isUndone ? without(field.name) : { ...without(field.name), [field.name]: value });
      if (Object.hasOwn(problems.errors, field.name)) {
        const { [field.name]: _, ...errors } = problems.errors;
        setProblems({ ...problems, errors });
      }
    },
    reset(field) {
      setDraft(without(field.name));
    },
    replace(next) {
      setDraft(next);
      setProblems(NO_ERRORS);
    },
    /** The changed values, as the API takes them; undefined if some are not valid, which is then shown. */
    input() {
      const values = {};
      const errors = {};
      for (const field of resource.fields) {
        if (!Object.hasOwn(draft, field.name)) continue;
        try {
          values[field.name] = toInput(field, draft[field.name]);
        } catch (error) {
          errors[field.name] = error.message;
        }
      }
      setProblems({ ...NO_ERRORS, errors });
      return Object.keys(errors).length > 0 ? undefined : values;
    },
    /** Shows an error of the server. */
    fail({ message, details = {} }) {
      const { errors, others } = splitErrors(resource, details);
      setProblems({ errors, others, message });
    },
  };
}

/** All errors of a form, with links to their fields. It gets the focus, so that it is read first. */
function ErrorSummary({ problems }) {
  const box = useRef(null);
  const { errors, others, message } = problems;
  useLayoutEffect(() => {
    box.current?.focus();
  }, [problems]);
  const focusField = (event, name) => {
    event.preventDefault();
    const field = document.querySelector(`[data-field="${CSS.escape(name)}"]`);
    field?.scrollIntoView({ block: 'center' });
    const control = document.getElementById(`field-${name}`) ?? field?.querySelector('input, textarea, select, button');
    control?.focus({ preventScroll: true });
  };
  return html`<div class="banner bad summary" role="alert" tabindex="-1" ref=${box}>
    <h2>${message ?? 'Some values are not valid'}</h2>
    <ul>
      ${Object.entries(errors).map(
        ([name, text]) =>
          html`<li key=${name}><a href=${`#field-${name}`} onClick=${(event) => focusField(event, name)}>${name}</a>: ${text}</li>`,
      )}
      ${others.map((text) => html`<li key=${text}>${text}</li>`)}
    </ul>
  </div>`;
}

/**
 * The fields of a record, to edit.
 *
 * @param {{ resource: any, form: ReturnType<typeof useDraft>, record?: any, labels: any, isNew: boolean, lock?: string,
 *   onSubmit: () => void, children: any }} props `lock`: why no field can be set; `children`: the buttons
 */
export function RecordForm({ resource, form, record, labels, isNew, lock, onSubmit, children }) {
  const submit = (event) => {
    event.preventDefault();
    if (lock === undefined) onSubmit();
  };
  const saveByKey = (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === 's') submit(event);
  };
  const shown = resource.fields.filter((field) => !isNew || isEditable(field, true));
  return html`<form class="record-form" onSubmit=${submit} onKeyDown=${saveByKey} novalidate>
    ${hasErrors(form.problems) && html`<${ErrorSummary} problems=${form.problems} />`}
    ${shown.map(
      (field) => html`<${FieldEditor}
        key=${field.name}
        field=${field}
        resource=${resource}
        record=${record}
        value=${form.draftOf(field)}
        saved=${form.savedOf(field)}
        labels=${labels}
        isNew=${isNew}
        lock=${lock}
        isChanged=${!isNew && form.isChanged(field)}
        error=${Object.hasOwn(form.problems.errors, field.name) ? form.problems.errors[field.name] : undefined}
        onChange=${(value) => form.change(field, value)}
        onReset=${() => form.reset(field)}
      />`,
    )}
    ${children}
  </form>`;
}
