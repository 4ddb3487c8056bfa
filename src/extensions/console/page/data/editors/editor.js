import { html } from 'htm/preact';
import { Icon } from '../../components/icons.js';
import { plainText, Value } from '../format.js';
import { BooleanEditor, DateEditor, EnumEditor, NumberEditor, TextEditor } from './basic.js';
import { FileEditor } from './file.js';
import { JsonEditor } from './json.js';
import { ArrayEditor, ObjectEditor, ReferenceEditor, ReferencesEditor } from './nested.js';
import { fieldNotes, lockedReason } from './rules.js';
import { SecretEditor } from './secret.js';

const EDITORS = {
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
  ref: ReferenceEditor,
  refs: ReferencesEditor,
  array: ArrayEditor,
  object: ObjectEditor,
  json: JsonEditor,
  file: FileEditor,
  password: SecretEditor,
};

const SECRET_TYPES = ['password'];
const isConcealed = ({ encrypted, writeOnly, type }) => encrypted || writeOnly || SECRET_TYPES.includes(type);
/** Editors with several controls, which need a group instead of a label. */
const GROUPS = ['array', 'object', 'refs', 'file'];

/** The control for values of a field: `ValueEditor` of its type. */
function ValueEditor(props) {
  const { field } = props;
  const Editor = isConcealed(field) ? SecretEditor : (EDITORS[field.type] ?? JsonEditor);
  return html`<${Editor} ...${props} Inner=${ValueEditor} />`;
}

const isGiven = (value) => value !== undefined && value !== null;

const boundOf = (bound) => (typeof bound === 'object' && bound !== null ? bound.value : bound);

/** What the bounds of a field count; undefined for types whose values are compared themselves. */
function unitOf(type) {
  if (['string', 'text', 'email', 'url', 'password'].includes(type)) return 'characters';
  return type === 'array' || type === 'refs' ? 'items' : undefined;
}

/** Says in words which values a field takes: `string, at most 200 characters`. */
function typeText({ type, target, inner, min, max }) {
  const kind = type === 'array' && inner ? `array of ${typeText(inner)}` : target ? `${type} to ${target}` : type;
  const unit = unitOf(type);
  const [least, most] = [boundOf(min), boundOf(max)];
  const bounds = [isGiven(least) && `at least ${least}`, isGiven(most) && `at most ${most}`].filter(Boolean);
  if (bounds.length === 0) return kind;
  const text = `${bounds.join(', ')}${unit === undefined ? '' : ` ${unit}`}`;
  return type === 'array' ? `${kind}; ${text}` : `${kind}, ${text}`;
}

function Description({ id, field, isNew }) {
  const notes = [
    isNew && isGiven(field.default) && `Default: ${plainText(field.default)}`,
    field.pattern && `Pattern: ${field.pattern}`,
    ...fieldNotes(field),
  ].filter(Boolean);
  if (!field.description && notes.length === 0) return null;
  return html`<p class="hint" id=${`${id}-hint`}>
    ${field.description}${field.description && notes.length > 0 && ' · '}
    ${notes.length > 0 && html`<span class="notes">${notes.join(' · ')}</span>`}
  </p>`;
}

/** A field that the console cannot set: its value, and why. */
function LockedField({ id, field, record, value, labels, reason }) {
  return html`<div class="field locked" data-field=${field.name}>
    <div class="field-head">
      <span class="name" id=${`${id}-name`}>${field.name}</span>
      <span class="type">${typeText(field)}</span>
      <span class="locked-mark" title=${reason}><${Icon} name="lock" size=${12} />${reason}</span>
    </div>
    <div class="locked-value"><${Value} field=${field} value=${value} labels=${labels} /></div>
    ${field.accounts && record && html`<p class="hint"><a href=${`/console/accounts/users/${encodeURIComponent(record.id)}`}>Change it in the account</a></p>`}
    <${Description} id=${id} field=${field} />
  </div>`;
}

/**
 * One field of a form: its name, what the declaration says about it, the control, and its error.
 *
 * @param {{ field: any, resource: any, record?: any, value: any, saved?: any, onChange: (value: any) => void, error?: string,
 *   labels: any, isNew?: boolean, lock?: string, isChanged?: boolean, onReset?: () => void }} props `saved`: the stored value; `lock`: why
 *   no field of the form can be set
 */
export function FieldEditor(props) {
  const { field, value, saved, onChange, error, labels, isNew = false, isChanged = false, onReset } = props;
  const id = `field-${field.name}`;
  const reason = props.lock ?? lockedReason(field, isNew);
  if (reason !== undefined)
    return html`<${LockedField} id=${id} field=${field} record=${props.lock === undefined ? props.record : undefined} value=${saved} labels=${labels} reason=${reason} />`;
  const isGroup = GROUPS.includes(field.type) && !isConcealed(field);
  const describedBy = [error && `${id}-error`, `${id}-hint`].filter(Boolean).join(' ');
  const name = html`${field.name}${field.required && html`<span class="required" title="Required">*</span>`}`;
  return html`<div class=${`field ${isChanged ? 'edited' : ''} ${error ? 'invalid' : ''}`} data-field=${field.name}>
    <div class="field-head">
      ${isGroup ? html`<span class="name" id=${`${id}-name`}>${name}</span>` : html`<label class="name" for=${id}>${name}</label>`}
      <span class="type">${typeText(field)}</span>
      ${isChanged && onReset && html`<button type="button" class="plain" aria-label=${`Undo the change of ${field.name}`} onClick=${onReset}>Undo</button>`}
      ${
        !isNew &&
        !field.required &&
        isGiven(value) &&
        !isConcealed(field) &&
        field.type !== 'boolean' &&
        html`<button type="button" class="plain" aria-label=${`Clear ${field.name}`} onClick=${() => onChange(null)}>Clear</button>`
      }
    </div>
    <div role=${isGroup ? 'group' : undefined} aria-labelledby=${isGroup ? `${id}-name` : undefined}>
      <${ValueEditor} ...${props} id=${id} value=${value} invalid=${error !== undefined} describedBy=${describedBy} />
    </div>
    ${error && html`<p class="field-error" id=${`${id}-error`}>${error}</p>`}
    <${Description} id=${id} field=${field} isNew=${isNew} />
  </div>`;
}
