import { findJsonError } from './json-position.js';

/** Types whose values come as `{ $secret, isSet }`. */
const isConcealed = ({ encrypted, writeOnly, type }) => encrypted || writeOnly || type === 'password';

/**
 * Why the console cannot set a field; undefined if it can.
 *
 * @param {any} field
 * @param {boolean} [isNew] whether the record does not exist yet
 */
export function lockedReason(field, isNew = false) {
  if (field.isSystem) return 'Set by the system';
  if (field.accounts !== undefined && !(isNew && field.accounts === 'create')) return 'Changed in the Accounts tab';
  if (field.type === 'password') return 'Users set their own password, for example with a reset link';
  return undefined;
}

/** Whether the console can set a field. @param {boolean} [isNew] of a record that does not exist yet */
export const isEditable = (field, isNew = false) => lockedReason(field, isNew) === undefined;

/** Describes the rules of a field: which policies decide about writing and reading it. */
export function fieldNotes(field) {
  return [
    field.owner && (field.required ? 'The owner of the record' : 'The owner of the record; nobody if empty'),
    field.tenant && 'The organisation of the record',
    field.readOnly && 'readOnly(): clients cannot set it',
    field.hidden && 'hidden(): the API never returns it',
    field.writeOnly && 'writeOnly(): never returned',
    field.encrypted && 'Stored encrypted',
    field.visibleTo && `visibleTo: ${field.visibleTo}`,
    field.writableBy && `writableBy: ${field.writableBy}`,
    field.immutable && 'immutable(): clients set it on create only',
    field.unique && 'Unique',
    field.pii && 'Personal data',
    field.deprecated && 'Deprecated',
  ].filter(Boolean);
}

/** The value that a form starts with: of a field that is not returned, nothing. */
export const toDraft = (field, value) => (isConcealed(field) ? undefined : (value ?? null));

/** The number in a text, as JSON needs it. @throws Error */
function toNumber(text, type) {
  const trimmed = String(text).trim();
  const number = Number(trimmed);
  if (trimmed === '' || !Number.isFinite(number)) throw new Error('Must be a number');
  if (type === 'integer' && !Number.isInteger(number)) throw new Error('Must be a whole number');
  return number;
}

/** A text of the JSON editor, until it is valid. */
export class JsonText {
  constructor(text) {
    this.text = text;
  }

  /** @throws Error with the position */
  parse() {
    if (this.text.trim() === '') return null;
    try {
      return JSON.parse(this.text);
    } catch {
      const { line, column } = findJsonError(this.text);
      throw new Error(`Is not valid JSON: see line ${line}, column ${column}`);
    }
  }
}

/**
 * Converts the value of an editor to the value that the API takes.
 *
 * @throws Error whose message belongs to the field
 */
export function toInput(field, value) {
  if (value === null || value === undefined) return null;
  if (value instanceof JsonText) return value.parse();
  switch (field.type) {
    case 'integer':
    case 'number':
      return typeof value === 'number' ? value : toNumber(value, field.type);
    case 'array':
      return field.inner ? value.map((item) => toInput(field.inner, item)) : value;
    case 'object':
      return Object.fromEntries(
        (field.shape ?? []).flatMap((one) => {
          const member = Object.hasOwn(value, one.name) ? value[one.name] : undefined;
          return member === null || member === undefined ? [] : [[one.name, toInput(one, member)]];
        }),
      );
    case 'ref':
      return typeof value === 'object' ? value.id : value;
    case 'file':
      return { id: value.id, ...(value.token === undefined ? {} : { token: value.token }) };
    default:
      return value;
  }
}
