import type { Operator } from '../../declare/field.ts';
import type { Looking } from '../../declare/host.ts';
import type { ScopeFilter } from '../../declare/resource.ts';
import type { CompiledResource } from '../compiled.ts';
import type { Condition } from './condition.ts';

const OPERATORS = new Set<string>(['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'all', 'exists']);

function fieldConditions(field: string, wanted: unknown): Condition[] {
  // A value that the scope function could not compute must hide everything rather than nothing.
  if (wanted === undefined) return [{ never: true }];
  if (wanted === null) return [{ field, op: 'exists', value: false }];
  if (Array.isArray(wanted)) return [{ field, op: 'in', value: wanted }];
  if (wanted instanceof Date) return [{ field, op: 'eq', value: wanted.toISOString() }];
  if (typeof wanted !== 'object') return [{ field, op: 'eq', value: wanted }];
  return Object.entries(wanted).map(([op, value]) => {
    if (!OPERATORS.has(op)) throw new Error(`the scope filter uses the unknown operator "${op}" on "${field}"`);
    return value === undefined ? { never: true } : { field, op: op as Operator, value };
  });
}

function known(resource: CompiledResource, field: string): boolean {
  return resource.field.has(field) || field === 'id' || (resource.timestamps && /^(created|updated)At$/.test(field));
}

/** A scope filter as conditions. Throws for a field or operator that does not exist: a scope must never be half applied. */
function filterConditions(resource: CompiledResource, filter: ScopeFilter): Condition[] {
  if (Array.isArray(filter)) return [{ any: filter.map((one) => ({ every: filterConditions(resource, one) })) }];
  return Object.entries(filter).flatMap(([name, wanted]) => {
    const field = name === '_id' ? 'id' : name;
    if (!known(resource, field))
      throw new Error(`the scope filter of "${resource.name}" names the unknown field "${name}"`);
    return fieldConditions(field, wanted);
  });
}

/** The conditions of the resource's service scope filter for this viewer. */
export function scopeConditions(resource: CompiledResource, looking: Looking): Condition[] {
  const filter = resource.declaration.scope?.({ user: looking.user, req: looking.req });
  return filter === undefined ? [] : filterConditions(resource, filter);
}
