import type { FieldSpec } from '../../declare/field.ts';
import type { Operator } from '../../declare/service.ts';
import { fieldTypeOf, type Scalar } from '../fields/field-type.ts';
import { toComparedText } from '../fields/text-rules.ts';
import { dateType } from '../fields/types/date.ts';
import { idType } from '../fields/types/id.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { type Condition, createComparison } from './list-query.ts';

const NEVER: Condition = { never: true };
const ARRAY_OPERATORS: readonly Operator[] = ['in', 'nin', 'all'];
/** Operators that test whether a field has a value if they compare it with null. */
export const EQUALITY_OPERATORS: ReadonlySet<string> = new Set(['eq', 'ne']);

/** A filter value as records hold it: Postgres and comparisons in memory then agree. Undefined for a value of the wrong type. */
export function toComparableValue(spec: FieldSpec, value: unknown): Scalar | undefined {
  const comparable = fieldTypeOf(spec).comparable?.(value, spec);
  return typeof comparable === 'string' ? toComparedText(comparable, spec) : comparable;
}

/**
 * The condition of the operators `in`, `nin` and `all`. In the list, null stands for a field without a value, undefined for a value that
 * could not be computed.
 */
function listOperatorCondition(field: string, spec: FieldSpec, op: Operator, wanted: readonly unknown[]): Condition {
  const values = wanted.filter((one) => one !== null).map((one) => toComparableValue(spec, one));
  const known = values.filter((one) => one !== undefined);
  if (op !== 'in' && known.length < values.length) return NEVER;
  const listed = createComparison(field, spec, op, known);
  if (!wanted.includes(null)) return listed;
  if (op === 'in') return { any: [listed, { field, op: 'exists', value: false }] };
  return op === 'nin' ? { every: [listed, { field, op: 'exists', value: true }] } : NEVER;
}

/**
 * A comparison that code wrote, in a scope filter or a query. Null stands for no value. No record meets a comparison with undefined or with
 * a value of the wrong type.
 *
 * @throws Error for `exists` without a boolean, or a list operator without a list
 */
export function createComparisonFromCode(field: string, spec: FieldSpec, op: Operator, wanted: unknown): Condition {
  // If the scope function could not compute a value, hide everything rather than nothing.
  if (wanted === undefined) return NEVER;
  if (op === 'exists' || ARRAY_OPERATORS.includes(op)) {
    const fits = op === 'exists' ? typeof wanted === 'boolean' : Array.isArray(wanted);
    if (!fits)
      throw new Error(`the scope filter's "${op}" on "${field}" takes ${op === 'exists' ? 'a boolean' : 'a list'}`);
    return op === 'exists' ? { field, op, value: wanted } : listOperatorCondition(field, spec, op, wanted as unknown[]);
  }
  if (wanted === null) return EQUALITY_OPERATORS.has(op) ? { field, op: 'exists', value: op === 'ne' } : NEVER;
  const value = toComparableValue(spec, wanted);
  return value === undefined ? NEVER : createComparison(field, spec, op, value);
}

/** Whether a filter value is an object of operators rather than a value to compare with. */
export function isOperatorObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** Whether a value is an object without a class, as filters are. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The declaration of a field, including the record's own fields; undefined for an unknown field. */
export function findFieldSpec(resource: CompiledResource, field: string): FieldSpec | undefined {
  if (field === 'id') return { type: idType };
  if (resource.timestamps && (field === 'createdAt' || field === 'updatedAt')) return { type: dateType };
  return resource.field.get(field)?.spec;
}
