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
export function kindOf(spec: FieldSpec): string {
  return spec.inner === undefined ? spec.type.kind : `array of ${kindOf(spec.inner.spec)}`;
}

/** Returns the values of an enum, or of an array of enums; undefined for any other field. */
export function enumValuesOf(spec: FieldSpec): readonly string[] | undefined {
  return spec.inner === undefined ? spec.values : enumValuesOf(spec.inner.spec);
}

function describeMember({ spec }: AnyField): StoredMember {
  const [values, members] = [enumValuesOf(spec), describeMembers(spec)];
  return {
    kind: kindOf(spec),
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
