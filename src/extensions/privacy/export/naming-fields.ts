import type { FieldSpec, Fields } from '../../../declare/field.ts';
import type { AnyResource } from '../../../declare/resource.ts';
import { isMarked } from './exported-fields.ts';
import { columnOf } from './read-records.ts';

/** A field that names users: a reference, or one that has some inside. */
export interface NamingField {
  name: string;
  /** The condition that it may name the user $1: SQL. */
  where: string;
  /** Whether a value of it names a user. */
  names(value: unknown, userId: string): boolean;
  /** Whether the declaration says that it makes the record personal. */
  marked: boolean;
}

type Names = NamingField['names'];

/** What finds a user in values of a field; undefined where there can be none. */
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
  // Nobody can look into a ciphertext but who decrypts it: each record is read.
  if (encrypted) return `(${column} is not null and $1::text is not null)`;
  if (target === 'user') return `${column} = $1`;
  if (inner?.spec.target === 'user') return `${column} @> array[$1]::text[]`;
  return `strpos(${column}::text, $1) > 0`;
}

/**
 * The fields by which records of others name users.
 *
 * @param owner the owner field, which is none of them
 */
export function namingFields(declaration: AnyResource, owner: string | undefined): NamingField[] {
  return Object.entries(declaration.fields as Fields).flatMap(([name, { spec }]): NamingField[] => {
    const names = name === owner ? undefined : finder(spec);
    if (names === undefined) return [];
    return [{ name, where: condition(name, spec), names, marked: isMarked(declaration, name) }];
  });
}
