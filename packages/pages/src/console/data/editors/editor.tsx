import type { ComponentType } from 'preact';
import { Icon } from '../../../kit/icons.tsx';
import { texts } from '../../texts.ts';
import type { FieldInfo } from '../app-info.ts';
import { plainText, Value } from '../format.tsx';
import { BooleanEditor, DateEditor, DayEditor, EnumEditor, NumberEditor, TextEditor } from './basic.tsx';
import type { EditorProps, ValueProps } from './editor-props.ts';
import { FileEditor } from './file.tsx';
import { JsonEditor } from './json.tsx';
import { isConcealed, lockOf } from './locks.ts';
import { ArrayEditor, ObjectEditor, ReferenceEditor, ReferencesEditor } from './nested.tsx';
import { SecretEditor } from './secret.tsx';
import { isGiven, typeText } from './type-text.ts';

/** Describes the rules of a field: which policies decide about writing and reading it. */
function fieldNotes(field: FieldInfo): string[] {
  const { notes } = texts.editors;
  return [
    field.owner && (field.required ? notes.requiredOwner : notes.owner),
    field.tenant && notes.tenant,
    field.readOnly && notes.readOnly,
    field.hidden && notes.hidden,
    field.writeOnly && notes.writeOnly,
    field.encrypted && notes.encrypted,
    field.visibleTo && notes.visibleTo(field.visibleTo),
    field.writableBy && notes.writableBy(field.writableBy),
    field.immutable && notes.immutable,
    field.unique && notes.unique,
    field.pii && notes.pii,
    field.deprecated && notes.deprecated,
  ].filter((note) => typeof note === 'string');
}

const EDITORS: Readonly<Record<string, ComponentType<EditorProps>>> = {
  string: TextEditor,
  text: TextEditor,
  email: TextEditor,
  url: TextEditor,
  id: TextEditor,
  decimal: NumberEditor,
  integer: NumberEditor,
  number: NumberEditor,
  boolean: BooleanEditor,
  enum: EnumEditor,
  date: DateEditor,
  day: DayEditor,
  ref: ReferenceEditor,
  refs: ReferencesEditor,
  array: ArrayEditor,
  object: ObjectEditor,
  json: JsonEditor,
  file: FileEditor,
  password: SecretEditor,
};

/** Editors whose option for no value names the default. */
const SELECTS = ['boolean', 'enum'];

/** Types that the control itself shows, so that only their bounds need words. */
const EVIDENT = ['string', 'text', 'boolean', 'enum', 'ref', 'date', 'day', 'file'];

/** Types whose controls take half a row of a wide form. */
const SHORT = ['boolean', 'enum', 'ref', 'date', 'day', 'integer', 'number', 'decimal'];

/** Editors with several controls, which need a group instead of a label. */
const GROUPS = ['array', 'object', 'refs', 'file'];

/** The control for values of a field: `ValueEditor` of its type. */
function ValueEditor(props: ValueProps) {
  const { field } = props;
  const Editor = isConcealed(field) ? SecretEditor : (EDITORS[field.type] ?? JsonEditor);
  return <Editor {...props} Inner={ValueEditor} />;
}

const shapeOf = (field: FieldInfo) => (SHORT.includes(field.type) && !isConcealed(field) ? 'short' : '');

function TypeHint({ field }: Pick<ValueProps, 'field'>) {
  const isEvident = EVIDENT.includes(field.type) && !isGiven(field.min) && !isGiven(field.max);
  return <span class="type">{!isEvident && typeText(field)}</span>;
}

function Description({ id, field, isNew }: Pick<ValueProps, 'id' | 'field' | 'isNew'>) {
  const notes = [
    isNew && isGiven(field.default) && !SELECTS.includes(field.type) && texts.editors.default(plainText(field.default)),
    field.pattern && texts.editors.pattern(field.pattern),
    ...fieldNotes(field),
  ].filter(Boolean);
  if (!field.description && notes.length === 0) return null;
  return (
    <p class="hint" id={`${id}-hint`}>
      {field.description}
      {field.description && notes.length > 0 && ' · '}
      {notes.length > 0 && <span class="notes">{notes.join(' · ')}</span>}
    </p>
  );
}

/** A field that the console cannot set: its value, and why. */
function LockedField({
  id,
  field,
  record,
  value,
  labels,
  reason,
}: Pick<ValueProps, 'id' | 'field' | 'record' | 'value' | 'labels'> & {
  reason: string;
}) {
  return (
    <div class={`field locked ${shapeOf(field)}`} data-field={field.name}>
      <div class="field-head">
        <span class="name" id={`${id}-name`}>
          {field.label}
        </span>
        <TypeHint field={field} />
        <span class="locked-mark" title={reason}>
          <Icon name="lock" size={12} />
          {reason}
        </span>
      </div>
      <div class="locked-value">
        <Value field={field} value={value} labels={labels} />
      </div>
      {field.accounts && record && (
        <p class="hint">
          <a href={`/console/accounts/users/${encodeURIComponent(record.id)}`}>{texts.editors.changeInAccount}</a>
        </p>
      )}
      <Description id={id} field={field} />
    </div>
  );
}

interface FieldEditorProps extends Omit<ValueProps, 'id' | 'invalid' | 'describedBy'> {
  error?: string;
  /** Why no field of the form can be set. */
  lock?: string;
  isChanged?: boolean;
  onReset?: () => void;
}

/** The name of a field, what it takes, and the buttons that undo a change and remove the value. */
function FieldHead({ id, isGroup, ...props }: FieldEditorProps & { id: string; isGroup: boolean }) {
  const { field, value, onChange, isNew, isChanged, onReset } = props;
  const name = (
    <>
      {field.label}
      {field.required && (
        <span class="required" title={texts.editors.required}>
          *
        </span>
      )}
    </>
  );
  return (
    <div class="field-head">
      {isGroup ? (
        <span class="name" id={`${id}-name`}>
          {name}
        </span>
      ) : (
        <label class="name" for={id}>
          {name}
        </label>
      )}
      <TypeHint field={field} />
      {isChanged && onReset && (
        <button type="button" class="plain" aria-label={texts.editors.undoChange(field.label)} onClick={onReset}>
          {texts.editors.undo}
        </button>
      )}
      {!isNew && !field.required && isGiven(value) && !isConcealed(field) && field.type !== 'boolean' && (
        <button
          type="button"
          class="plain"
          aria-label={texts.editors.clearField(field.label)}
          onClick={() => onChange(null)}
        >
          {texts.editors.clear}
        </button>
      )}
    </div>
  );
}

/** One field of a form: its name, what the declaration says about it, the control, and its error. */
export function FieldEditor({ lock, error, ...props }: FieldEditorProps) {
  const { field, record, saved, labels, isNew = false, isChanged = false } = props;
  const id = `field-${field.name}`;
  const ownLock = lockOf(field, isNew);
  const reason = lock ?? (ownLock && texts.editors.locked[ownLock]);
  if (reason !== undefined) {
    const owner = lock === undefined ? record : undefined;
    return <LockedField id={id} field={field} record={owner} value={saved} labels={labels} reason={reason} />;
  }
  const isGroup = GROUPS.includes(field.type) && !isConcealed(field);
  const describedBy = [error && `${id}-error`, `${id}-hint`].filter(Boolean).join(' ');
  return (
    <div
      class={`field ${shapeOf(field)} ${isChanged ? 'edited' : ''} ${error ? 'invalid' : ''}`}
      data-field={field.name}
    >
      <FieldHead {...props} id={id} isGroup={isGroup} />
      <div {...(isGroup && ({ role: 'group', 'aria-labelledby': `${id}-name` } as const))}>
        <ValueEditor {...props} id={id} invalid={error !== undefined} describedBy={describedBy} />
      </div>
      {error && (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
      <Description id={id} field={field} isNew={isNew} />
    </div>
  );
}
