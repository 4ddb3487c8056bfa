import type { FieldSpec, Fields } from '../../../declare/field.ts';
import type { AnyResource } from '../../../declare/resource.ts';
import { fieldTypeOf } from '../../../records/fields/field-type.ts';
import { isFreeText, isPersonal } from '../../../records/fields/personal-data.ts';

/** Why a field counts as personal: the declaration says so, it describes an account, or its name (or type) looks like it. */
export type Reason = 'pii()' | 'personalFields' | 'account' | 'name';

/** A personal field, or a personal member of one. */
export interface PersonalField {
  /** For a member of an object: `address.city`. */
  path: string;
  /** The top-level field. */
  field: string;
  reason: Reason;
}

/** Returns the personal parts of a field: the field itself, or its personal members. */
function personalParts(path: string, name: string, spec: FieldSpec, reason: Reason | undefined): [string, Reason][] {
  if (reason !== undefined) return [[path, reason]];
  if (spec.pii) return [[path, 'pii()']];
  const { shape, inner, ...own } = spec;
  if (isPersonal(name, own)) return [[path, 'name']];
  if (inner !== undefined) return personalParts(path, name, inner.spec, undefined);
  return Object.entries(shape ?? {}).flatMap(([member, field]) =>
    personalParts(`${path}.${member}`, member, field.spec, undefined),
  );
}

/**
 * Returns the personal fields of a resource.
 *
 * @param isUser whether it is the user resource, whose free-text fields are all personal
 */
export function personalFields({ fields, personalFields: listed = [] }: AnyResource, isUser: boolean): PersonalField[] {
  return Object.entries(fields as Fields).flatMap(([field, { spec }]) => {
    if (fieldTypeOf(spec).concealed) return [];
    const declared = spec.pii ? 'pii()' : listed.includes(field) ? 'personalFields' : undefined;
    const reason = declared ?? (isUser && isFreeText(spec) ? 'account' : undefined);
    return personalParts(field, field, spec, reason).map(([path, why]) => ({ path, field, reason: why }));
  });
}
