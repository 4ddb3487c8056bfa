import type { FieldSpec, Operator } from '../../declare/field.ts';
import { fieldTypeOf } from './registry.ts';

const ORDERED: readonly Operator[] = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'exists'];

/** The comparisons that make sense for a field, whether or not clients may use them. */
export function possibleOperators(spec: FieldSpec): readonly Operator[] {
  if (spec.encrypted) return ['exists'];
  if (spec.kind === 'boolean') return ['eq', 'ne', 'in', 'nin', 'exists'];
  if (fieldTypeOf(spec).column(spec) === 'jsonb') return ['exists'];
  return spec.kind === 'array' ? ['eq', 'ne', 'in', 'nin', 'all', 'exists'] : ORDERED;
}
