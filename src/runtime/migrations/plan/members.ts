import type { AnyField, FieldSpec } from '../../../declare/field.ts';

/** A stored description of an object's member, to detect later that stored objects may have become invalid. */
export interface StoredMember {
  kind: string;
  /** Set if the member is required and has no default. */
  required?: true;
  /** The values of an enum, or of an array of enums. */
  values?: readonly string[];
  /** The members of an object, or of an array of objects. */
  members?: StoredMembers;
}

/** The stored descriptions of an object's members, by name. */
export type StoredMembers = Readonly<Record<string, StoredMember>>;

/** Returns the kind of a field, as in the declarations: `string`, `array of string`. */
export function describeKind(spec: FieldSpec): string {
  return spec.inner === undefined ? spec.type.kind : `array of ${describeKind(spec.inner.spec)}`;
}

/** Returns the values of an enum, or of an array of enums; undefined for any other field. */
export function findEnumValues(spec: FieldSpec): readonly string[] | undefined {
  return spec.inner === undefined ? spec.values : findEnumValues(spec.inner.spec);
}

function describeMember({ spec }: AnyField): StoredMember {
  const [values, members] = [findEnumValues(spec), describeMembers(spec)];
  return {
    kind: describeKind(spec),
    ...(spec.required && !('default' in spec) && { required: true }),
    ...(values && { values }),
    ...(members && { members }),
  };
}

/** Describes the members of an object, or of an array of objects; undefined for any other field. */
export function describeMembers(spec: FieldSpec): StoredMembers | undefined {
  if (spec.inner !== undefined) return describeMembers(spec.inner.spec);
  if (spec.shape === undefined) return undefined;
  return Object.fromEntries(Object.entries(spec.shape).map(([name, field]) => [name, describeMember(field)]));
}
