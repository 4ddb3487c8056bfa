import type { FieldSpec, Fields } from '../../../declare/field.ts';
import type { AnyResource } from '../../../declare/resource.ts';

function hasMark({ pii, inner, shape }: FieldSpec): boolean {
  if (pii || (inner !== undefined && hasMark(inner.spec))) return true;
  return Object.values(shape ?? {}).some((member) => hasMark(member.spec));
}

/** Whether a declaration says that a field, or something in it, is personal: by `pii()`, or in `personalFields`. */
export function isMarked({ fields, personalFields = [] }: AnyResource, name: string): boolean {
  return personalFields.includes(name) || hasMark((fields as Fields)[name]!.spec);
}
