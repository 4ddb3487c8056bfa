import type { FieldSpec, Fields } from '../../../declare/field.ts';
import type { AnyResource } from '../../../declare/resource.ts';
import { isMarked } from './exported-fields.ts';
import { columnOf } from './read-records.ts';

/** A field that refers to users: a reference, or a field that contains references. */
export interface NamingField {
  name: string;
  /** An SQL condition: the field may refer to user $1. */
  where: string;
  /** Whether a value of the field refers to a user. */
  names(value: unknown, userId: string): boolean;
  /** Whether the declaration marks the field as personal. */
  marked: boolean;
}

type Names = NamingField['names'];

/** Returns the function that finds a user in values of a field; undefined if the field cannot contain users. */
function finder({ target, inner, shape }: FieldSpec): Names | undefined {
  if (target === 'user') return (value, userId) => value === userId;
  if (inner !== undefined) {
    const find = finder(inner.spec);
    return find && ((value, userId) => Array.isArray(value) && value.some((item) => find(item, userId)));
  }
  const members = Object.entries(shape ?? {}).flatMap(([member, { spec }]): [string, Names][] => {
    const find = finder(spec);
    return find === undefined ? [] : [[member, find]];
  });
  if (members.length === 0) return undefined;
  return (value, userId) =>
    typeof value === 'object' &&
    value !== null &&
    members.some(([member, find]) => find((value as Record<string, unknown>)[member], userId));
}

function condition(name: string, { target, inner, encrypted }: FieldSpec): string {
  const column = columnOf(name);
  // SQL cannot search ciphertexts, so each record is read and decrypted.
  if (encrypted) return `(${column} is not null and $1::text is not null)`;
  if (target === 'user') return `${column} = $1`;
  if (inner?.spec.target === 'user') return `${column} @> array[$1]::text[]`;
  return `strpos(${column}::text, $1) > 0`;
}

/**
 * Returns the fields through which records of other users refer to a user.
 *
 * @param owner the owner field, which is left out
 */
export function namingFields(declaration: AnyResource, owner: string | undefined): NamingField[] {
  return Object.entries(declaration.fields as Fields).flatMap(([name, { spec }]): NamingField[] => {
    const names = name === owner ? undefined : finder(spec);
    if (names === undefined) return [];
    return [{ name, where: condition(name, spec), names, marked: isMarked(declaration, name) }];
  });
}
