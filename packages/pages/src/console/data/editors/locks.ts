import type { FieldInfo } from '../app-info.ts';

/** Whether the values of a field come as `{ $secret, isSet }`. */
export const isConcealed = ({ encrypted, writeOnly, type }: FieldInfo): boolean =>
  encrypted || writeOnly || type === 'password';

/**
 * What keeps the console from setting a field: it belongs to the account, or only the user sets it; undefined if the console can set it.
 *
 * @param isNew whether the record does not exist yet
 */
export function lockOf(field: FieldInfo, isNew = false): 'account' | 'password' | undefined {
  if (field.accounts !== undefined && !(isNew && field.accounts === 'create')) return 'account';
  return field.type === 'password' ? 'password' : undefined;
}

/** Whether the console can set a field. @param isNew of a record that does not exist yet */
export const isEditable = (field: FieldInfo, isNew = false): boolean => lockOf(field, isNew) === undefined;
