import type { FieldSpec } from '../../declare/field.ts';
import type { ScopeFilter } from '../../declare/resource.ts';
import type { Operator } from '../../declare/service.ts';
import { runForViewer } from '../../rules/acting.ts';
import type { ResolvedViewContext } from '../access/operation-context.ts';
import { createScopeErrorHandler } from '../access/rule-errors.ts';
import { fieldTypeOf, type Scalar, supportedOperatorsOf } from '../fields/field-type.ts';
import { toComparedText } from '../fields/text-rules.ts';
import { dateType } from '../fields/types/date.ts';
import { idType } from '../fields/types/id.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { type Condition, createComparison } from './list-query.ts';
import { CODE_PATH_RULES, type PathFilter, pathConditions, relatedExistsCondition } from './paths.ts';
import { queryCondition, RecordQuery } from './record-query.ts';

const NEVER: Condition = { never: true };
const ARRAY_OPERATORS: readonly Operator[] = ['in', 'nin', 'all'];
/** Operators that test whether a field has a value if they compare it with null. */
export const EQUALITY_OPERATORS: ReadonlySet<string> = new Set(['eq', 'ne']);

/**
 * A filter value in the form in which records hold it, so that Postgres and comparisons in memory agree; undefined for a value of the wrong
 * type.
 */
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

/** The kind of a value, for a message. */
function describeKind(value: unknown): string {
  if (value === null || value === undefined || typeof value === 'boolean') return String(value);
  if (typeof value !== 'object') return `a ${typeof value}`;
  const name: string = value.constructor?.name || 'object';
  return /^[aeiou]/i.test(name) ? `an ${name}` : `a ${name}`;
}

/** Whether a value is an object without a class, as filters are. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Checks that a scope returned a filter: any other value contains no comparisons and would show every record. */
function assertScopeFilter(resource: CompiledResource, returned: unknown): asserts returned is ScopeFilter {
  const filters: readonly unknown[] = Array.isArray(returned) ? returned : [returned];
  const wrong = filters.findIndex((one) => !isPlainObject(one));
  if (wrong === -1) return;
  const kind = describeKind(filters[wrong]);
  const what = Array.isArray(returned) ? `a list that contains ${kind}` : kind;
  throw new Error(
    `the scope of "${resource.name}" returned ${what}; it must return a filter, a list of filters or undefined`,
  );
}

function scopeConditionsOfField(
  resource: CompiledResource,
  field: string,
  spec: FieldSpec,
  wanted: unknown,
): Condition[] {
  if (wanted instanceof RecordQuery)
    throw new Error(`the scope filter compares "${field}" with a query; write { in: query }`);
  const operators = isOperatorObject(wanted);
  // A value without comparisons (`{}`, a Promise, a Map) must not count as an empty filter.
  if (operators && Object.keys(wanted).length === 0) {
    throw new Error(
      `the scope filter compares "${field}" with ${describeKind(wanted)}; compare it with a value, a list or operators`,
    );
  }
  const terms = operators ? Object.entries(wanted) : [[Array.isArray(wanted) ? 'in' : 'eq', wanted] as const];
  const possible: readonly string[] = supportedOperatorsOf(spec);
  return terms.map(([op, value]) => {
    const missing = value === null && EQUALITY_OPERATORS.has(op);
    if (!possible.includes(missing ? 'exists' : op)) {
      throw new Error(`the scope filter uses "${op}" on "${field}"; it can be ${possible.join(', ')}`);
    }
    if (value instanceof RecordQuery) return queryCondition(resource, field, op, value);
    return createComparisonFromCode(field, spec, op as Operator, value);
  });
}

/** The declaration of a field, including the record's own fields; undefined for an unknown field. */
export function fieldSpecOf(resource: CompiledResource, field: string): FieldSpec | undefined {
  if (field === 'id') return { type: idType };
  if (resource.timestamps && (field === 'createdAt' || field === 'updatedAt')) return { type: dateType };
  return resource.field.get(field)?.spec;
}

function conditionsOfScopedField(resource: CompiledResource, name: string, wanted: unknown): Condition[] {
  const relation = resource.relations.get(name);
  if (relation?.kind === 'reverse') {
    const { exists, ...others } = isOperatorObject(wanted) ? wanted : {};
    if (typeof exists === 'boolean' && Object.keys(others).length === 0)
      return [relatedExistsCondition(resource, relation, exists, 'system')];
    throw new Error(
      `the scope filter compares the relation "${name}" of "${resource.name}"; name a field of it, such as "${name}.id", or use { exists: true }`,
    );
  }
  const field = name === '_id' ? 'id' : name;
  const spec = fieldSpecOf(resource, field);
  if (spec === undefined || fieldTypeOf(spec).concealed) {
    throw new Error(`the scope filter of "${resource.name}" names the unknown field "${name}"`);
  }
  return scopeConditionsOfField(resource, field, spec, wanted);
}

/** A scope filter as conditions. Throws for an unknown field or operator: a scope must never be applied in part. */
function scopeFilterConditions(resource: CompiledResource, filter: ScopeFilter): Condition[] {
  if (Array.isArray(filter)) return [{ any: filter.map((one) => ({ every: scopeFilterConditions(resource, one) })) }];
  const filters = Object.entries(filter).map(
    ([path, wanted]): PathFilter => ({
      path: path.split('.'),
      written: path,
      parse: (target, name) => conditionsOfScopedField(target, name, wanted),
    }),
  );
  return pathConditions(resource, filters, CODE_PATH_RULES, (message) => new Error(message));
}

function scopeResultConditions(resource: CompiledResource, filter: unknown): Condition[] {
  if (filter === undefined) return [];
  assertScopeFilter(resource, filter);
  return scopeFilterConditions(resource, filter);
}

/**
 * The conditions of a filter that a policy function returned.
 *
 * @throws Error for an invalid filter, and for an empty one, which would allow the action on every record
 */
export function policyFilterConditions(resource: CompiledResource, filter: object): Condition[] {
  const filters: readonly unknown[] = Array.isArray(filter) ? filter : [filter];
  if (filters.length === 0 || !filters.every((one) => isPlainObject(one) && Object.keys(one).length > 0))
    throw new Error(
      `a policy of "${resource.name}" returned ${describeKind(filter)} that is not a filter; return true, false or a filter`,
    );
  return scopeFilterConditions(resource, filter as ScopeFilter);
}

// The results of asynchronous scope functions, by view context. Each operation creates its own view context, so the scope is evaluated once
// per operation and not kept longer.
const pendingScopes = new WeakMap<ResolvedViewContext, Map<CompiledResource, Promise<Condition[]>>>();

/** Wraps an error that a scope function threw, to distinguish it from the error of an invalid filter. */
class ScopeFunctionError {
  readonly error: unknown;
  constructor(error: unknown) {
    this.error = error;
  }
}

function throwScopeFunctionError(error: unknown): never {
  throw new ScopeFunctionError(error);
}

function evaluateScope(resource: CompiledResource, resolved: ResolvedViewContext): Condition[] | Promise<Condition[]> {
  const { scope } = resource.declaration;
  if (scope === undefined) return [];
  const known = pendingScopes.get(resolved);
  const pendingConditions = known?.get(resource);
  if (pendingConditions !== undefined) return pendingConditions;
  const { user, req, service } = resolved;
  let filter: unknown;
  try {
    filter = runForViewer(resolved, () => scope({ user, req, service }));
  } catch (error) {
    throwScopeFunctionError(error);
  }
  if (!(filter instanceof Promise)) return scopeResultConditions(resource, filter);
  const conditions = filter.then((filter) => scopeResultConditions(resource, filter), throwScopeFunctionError);
  if (known === undefined) pendingScopes.set(resolved, new Map([[resource, conditions]]));
  else known.set(resource, conditions);
  return conditions;
}

/**
 * The conditions of the resource's service scope filter for this viewer; a promise if the scope returned one. If the scope function throws,
 * no record is in the scope.
 *
 * @param decides with `visibility`, an invalid filter hides every record too, so that the rest of the response is not lost
 * @throws Error if the scope returned no filter or an invalid one; with `request`, the ApiError that the scope function threw
 */
export function scopeConditions(
  resource: CompiledResource,
  resolved: ResolvedViewContext,
  decides: 'request' | 'visibility' = 'request',
): Condition[] | Promise<Condition[]> {
  const handleScopeError = (error: unknown): Condition[] => {
    if (decides === 'request' && !(error instanceof ScopeFunctionError)) throw error;
    createScopeErrorHandler(resource, resolved.req, decides)(error instanceof ScopeFunctionError ? error.error : error);
    return [NEVER];
  };
  try {
    const conditions = evaluateScope(resource, resolved);
    return conditions instanceof Promise ? conditions.catch(handleScopeError) : conditions;
  } catch (error) {
    return handleScopeError(error);
  }
}
