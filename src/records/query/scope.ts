import type { FieldSpec, Operator } from '../../declare/field.ts';
import type { Looking } from '../../declare/host.ts';
import type { ScopeFilter } from '../../declare/resource.ts';
import type { CompiledResource } from '../compiled.ts';
import type { Scalar } from '../fields/field-type.ts';
import { possibleOperators } from '../fields/operators.ts';
import { fieldTypeOf } from '../fields/registry.ts';
import type { Condition } from './condition.ts';

const NEVER: Condition = { never: true };
const LISTS: readonly Operator[] = ['in', 'nin', 'all'];

/**
 * A value of a filter in the form in which records hold it, so that the database and `matches` compare alike; undefined for
 * one of the wrong type.
 */
export function comparable(spec: FieldSpec, value: unknown): Scalar | undefined {
  return fieldTypeOf(spec).comparable?.(value, spec);
}

/** `in`, `nin` and `all`. Null stands for a field without a value; undefined for a value that could not be computed. */
function listCondition(field: string, spec: FieldSpec, op: Operator, wanted: readonly unknown[]): Condition {
  const values = wanted.filter((one) => one !== null).map((one) => comparable(spec, one));
  const known = values.filter((one) => one !== undefined);
  if (op !== 'in' && known.length < values.length) return NEVER;
  const listed: Condition = { field, op, value: known };
  if (!wanted.includes(null)) return listed;
  if (op === 'in') return { any: [listed, { field, op: 'exists', value: false }] };
  return op === 'nin' ? { every: [listed, { field, op: 'exists', value: true }] } : NEVER;
}

function comparison(field: string, spec: FieldSpec, op: Operator, wanted: unknown): Condition {
  // A value that the scope function could not compute must hide everything rather than nothing.
  if (wanted === undefined) return NEVER;
  if (op === 'exists' || LISTS.includes(op)) {
    const fits = op === 'exists' ? typeof wanted === 'boolean' : Array.isArray(wanted);
    if (!fits)
      throw new Error(`the scope filter's "${op}" on "${field}" takes ${op === 'exists' ? 'a boolean' : 'a list'}`);
    return op === 'exists' ? { field, op, value: wanted } : listCondition(field, spec, op, wanted as unknown[]);
  }
  if (wanted === null) return op === 'eq' || op === 'ne' ? { field, op: 'exists', value: op === 'ne' } : NEVER;
  const value = comparable(spec, wanted);
  return value === undefined ? NEVER : { field, op, value };
}

function fieldConditions(field: string, spec: FieldSpec, wanted: unknown): Condition[] {
  const isOperators =
    typeof wanted === 'object' && wanted !== null && !Array.isArray(wanted) && !(wanted instanceof Date);
  const terms = isOperators ? Object.entries(wanted) : [[Array.isArray(wanted) ? 'in' : 'eq', wanted] as const];
  const possible: readonly string[] = possibleOperators(spec);
  return terms.map(([op, value]) => {
    const missing = value === null && possible.includes('exists');
    if (!missing && !possible.includes(op)) {
      throw new Error(`the scope filter uses "${op}" on "${field}"; it can be ${possible.join(', ')}`);
    }
    return comparison(field, spec, op as Operator, value);
  });
}

/** What is declared of a field, the record's own among them; undefined for one that there is not. */
export function specOf(resource: CompiledResource, field: string): FieldSpec | undefined {
  if (field === 'id') return { kind: 'id' };
  if (resource.timestamps && (field === 'createdAt' || field === 'updatedAt')) return { kind: 'date' };
  return resource.field.get(field)?.spec;
}

/** A scope filter as conditions. Throws for a field or operator that does not exist: a scope must never be half applied. */
function filterConditions(resource: CompiledResource, filter: ScopeFilter): Condition[] {
  if (Array.isArray(filter)) return [{ any: filter.map((one) => ({ every: filterConditions(resource, one) })) }];
  return Object.entries(filter).flatMap(([name, wanted]) => {
    const field = name === '_id' ? 'id' : name;
    const spec = specOf(resource, field);
    if (spec === undefined || fieldTypeOf(spec).concealed) {
      throw new Error(`the scope filter of "${resource.name}" names the unknown field "${name}"`);
    }
    return fieldConditions(field, spec, wanted);
  });
}

/** The conditions of the resource's service scope filter for this viewer. */
export function scopeConditions(resource: CompiledResource, looking: Looking): Condition[] {
  const filter = resource.declaration.scope?.({ user: looking.user, req: looking.req });
  return filter === undefined ? [] : filterConditions(resource, filter);
}
