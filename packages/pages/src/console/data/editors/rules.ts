import type { FieldInfo } from '../app-info.ts';

/** Whether the values of a field come as `{ $secret, isSet }`. */
export const isConcealed = ({ encrypted, writeOnly, type }: FieldInfo): boolean =>
  encrypted || writeOnly || type === 'password';

/**
 * Why the console cannot set a field; undefined if it can.
 *
 * @param isNew whether the record does not exist yet
 */
export function lockedReason(field: FieldInfo, isNew = false): string | undefined {
  if (field.accounts !== undefined && !(isNew && field.accounts === 'create')) return 'Changed in the Accounts tab';
  if (field.type === 'password') return 'Users set their own password, for example with a reset link';
  return undefined;
}

/** Whether the console can set a field. @param isNew of a record that does not exist yet */
export const isEditable = (field: FieldInfo, isNew = false): boolean => lockedReason(field, isNew) === undefined;

/** Describes the rules of a field: which policies decide about writing and reading it. */
export function fieldNotes(field: FieldInfo): string[] {
  return [
    field.owner && (field.required ? 'The owner of the record' : 'The owner of the record; nobody if empty'),
    field.tenant && 'The organisation of the record',
    field.readOnly && 'Clients of the API cannot set it',
    field.hidden && 'The API never shows it',
    field.writeOnly && 'Never shown again',
    field.encrypted && 'Stored encrypted',
    field.visibleTo && `Seen by: ${field.visibleTo}`,
    field.writableBy && `Changed by: ${field.writableBy}`,
    field.immutable && 'Clients of the API cannot change it later',
    field.unique && 'Unique',
    field.pii && 'Personal data',
    field.deprecated && 'Deprecated',
  ].filter((note) => typeof note === 'string');
}
