import type { FieldSpec, Operator } from '../../declare/field.ts';
import { fieldTypeOf } from './registry.ts';

/** The comparisons that make sense for a field, whether or not clients may use them. */
export function possibleOperators(spec: FieldSpec): readonly Operator[] {
  return spec.encrypted ? ['exists'] : fieldTypeOf(spec).comparisons(spec);
}
