import type { ComponentChildren, TargetedEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { toRequestError } from '../../../kit/request.ts';
import { texts } from '../../texts.ts';
import type { FieldInfo, Labels, ResourceInfo, StoredRecord } from '../app-info.ts';
import { FieldEditor } from '../editors/editor.tsx';
import { isEditable } from '../editors/locks.ts';
import { toDraft, toInput } from '../editors/values.ts';
import { isSame } from '../format.tsx';
import { fieldLabel, fieldValue } from '../schema.ts';
import type { Changes } from './record-data.ts';

/** Whether a value of an editor differs from the stored one. A value that is not valid yet does. */
function differs(field: FieldInfo, value: unknown, saved: unknown): boolean {
  try {
    return !isSame(toInput(field, value), toInput(field, toDraft(field, saved)));
  } catch {
    return true;
  }
}

/** What is wrong with the values of a form. */
interface Problems {
  /** By field. */
  errors: Readonly<Record<string, string>>;
  /** Those that belong to no field. */
  others: readonly string[];
  /** Of the server. */
  message?: string;
}

const NO_PROBLEMS: Problems = { errors: {}, others: [] };

const hasProblems = ({ errors, others, message }: Problems) =>
  Object.keys(errors).length > 0 || others.length > 0 || message !== undefined;

/** Splits the errors of the server by field; `place.street` belongs to `place`. The others have no field. */
function splitErrors(resource: ResourceInfo, details: Readonly<Record<string, string>>): Problems {
  const errors: Record<string, string> = {};
  const others: string[] = [];
  for (const [path, message] of Object.entries(details)) {
    const [name = '', ...rest] = path.split('.');
    const text = rest.length === 0 ? message : `${rest.join('.')}: ${message}`;
    if (!resource.fields.some((field) => field.name === name)) others.push(`${path}: ${message}`);
    else errors[name] = Object.hasOwn(errors, name) ? `${errors[name]} · ${text}` : text;
  }
  return { errors, others };
}

export type RecordDraft = ReturnType<typeof useDraft>;

/**
 * The changes to a record that are not saved yet, and the problems of the last attempt.
 *
 * @param record the stored record; undefined for a new one, and while it is read
 */
export function useDraft(resource: ResourceInfo, record: StoredRecord | undefined, isNew: boolean) {
  const [draft, setDraft] = useState<Changes>({});
  const [problems, setProblems] = useState(NO_PROBLEMS);
  const savedOf = (field: FieldInfo) => (record === undefined ? undefined : fieldValue(record, field.name));
  const draftOf = (field: FieldInfo) =>
    Object.hasOwn(draft, field.name) ? draft[field.name] : toDraft(field, isNew ? undefined : savedOf(field));
  const without = (name: string): Changes => Object.fromEntries(Object.entries(draft).filter(([key]) => key !== name));
  return {
    draft,
    problems,
    draftOf,
    savedOf,
    isDirty: Object.keys(draft).length > 0,
    isChanged: ({ name }: FieldInfo) => Object.hasOwn(draft, name),
    change(field: FieldInfo, value: unknown) {
      const isUndone = value === undefined || !differs(field, value, isNew ? undefined : savedOf(field));
      setDraft(isUndone ? without(field.name) : { ...without(field.name), [field.name]: value });
      if (Object.hasOwn(problems.errors, field.name)) {
        const { [field.name]: _, ...errors } = problems.errors;
        setProblems({ ...problems, errors });
      }
    },
    reset(field: FieldInfo) {
      setDraft(without(field.name));
    },
    replace(next: Changes) {
      setDraft(next);
      setProblems(NO_PROBLEMS);
    },
    /** Forgets the changes, which are saved now. What has been changed again since they were sent stays. */
    forgetSaved() {
      setDraft((now) => Object.fromEntries(Object.entries(now).filter(([name, value]) => value !== draft[name])));
      setProblems(NO_PROBLEMS);
    },
    /** The changed values, as the API takes them; undefined if some are not valid, which is then shown. */
    input(): Record<string, unknown> | undefined {
      const values: Record<string, unknown> = {};
      const errors: Record<string, string> = {};
      for (const field of resource.fields) {
        if (!Object.hasOwn(draft, field.name)) continue;
        try {
          values[field.name] = toInput(field, draft[field.name]);
        } catch (error) {
          errors[field.name] = toRequestError(error).message;
        }
      }
      setProblems({ ...NO_PROBLEMS, errors });
      return Object.keys(errors).length > 0 ? undefined : values;
    },
    /** Shows an error of the server. */
    fail(error: unknown) {
      const { message, details } = toRequestError(error);
      setProblems({ ...splitErrors(resource, details), message });
    },
  };
}

/** All errors of a form, with links to their fields. It gets the focus, so that it is read first. */
function ErrorSummary({ resource, problems }: { resource: ResourceInfo; problems: Problems }) {
  const box = useRef<HTMLDivElement>(null);
  const { errors, others, message } = problems;
  useLayoutEffect(() => {
    box.current?.focus();
  }, [problems]);
  const focusField = (event: Event, name: string) => {
    event.preventDefault();
    const field = document.querySelector(`[data-field="${CSS.escape(name)}"]`);
    field?.scrollIntoView({ block: 'center' });
    const control =
      document.getElementById(`field-${name}`) ?? field?.querySelector<HTMLElement>('input, textarea, select, button');
    control?.focus({ preventScroll: true });
  };
  return (
    <div class="banner bad summary" role="alert" tabindex={-1} ref={box}>
      <h2>{message ?? texts.record.invalid}</h2>
      <ul>
        {Object.entries(errors).map(([name, text]) => (
          <li key={name}>
            <a href={`#field-${name}`} onClick={(event) => focusField(event, name)}>
              {fieldLabel(resource, name)}
            </a>
            : {text}
          </li>
        ))}
        {others.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </div>
  );
}

/** The fields of a record, to edit. */
export function RecordForm({
  resource,
  form,
  record,
  labels,
  isNew,
  lock,
  isBusy,
  onSubmit,
  children,
}: {
  resource: ResourceInfo;
  form: RecordDraft;
  record?: StoredRecord;
  labels: Labels;
  isNew: boolean;
  /** Why no field can be set. */
  lock?: string;
  /** Whether the values are being saved. */
  isBusy: boolean;
  onSubmit: () => void;
  /** The buttons. */
  children: ComponentChildren;
}) {
  const submit = (event: Event) => {
    event.preventDefault();
    // A key that is held down repeats.
    if (lock === undefined && !isBusy) onSubmit();
  };
  const saveByKey = (event: TargetedEvent<HTMLFormElement, KeyboardEvent>) => {
    if ((event.ctrlKey || event.metaKey) && event.key === 's') submit(event);
  };
  const shown = resource.fields.filter((field) => !isNew || isEditable(field, true));
  return (
    <form class="record-form" onSubmit={submit} onKeyDown={saveByKey} novalidate>
      {hasProblems(form.problems) && <ErrorSummary resource={resource} problems={form.problems} />}
      {shown.map((field) => (
        <FieldEditor
          key={field.name}
          field={field}
          resource={resource}
          record={record}
          value={form.draftOf(field)}
          saved={form.savedOf(field)}
          labels={labels}
          isNew={isNew}
          lock={lock}
          isChanged={!isNew && form.isChanged(field)}
          error={Object.hasOwn(form.problems.errors, field.name) ? form.problems.errors[field.name] : undefined}
          onChange={(value) => form.change(field, value)}
          onReset={() => form.reset(field)}
        />
      ))}
      {children}
    </form>
  );
}
