import type { FieldSpec } from '../../declare/field.ts';
import type { ScopeFilter } from '../../declare/resource.ts';
import type { Operator } from '../../declare/service.ts';
import { runForViewer } from '../../rules/acting.ts';
import type { ResolvedViewContext } from '../access/operation-context.ts';
import { fieldTypeOf, supportedOperatorsOf } from '../fields/field-type.ts';
import {
  createComparisonFromCode,
  EQUALITY_OPERATORS,
  findFieldSpec,
  isOperatorObject,
  isPlainObject,
} from '../query/comparison.ts';
import type { Condition } from '../query/list-query.ts';
import { CODE_PATH_RULES, type PathFilter, pathConditions, relatedExistsCondition } from '../query/paths.ts';
import { queryCondition, RecordQuery } from '../query/record-query.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { createScopeErrorHandler } from '../schema/rule-errors.ts';

const NEVER: Condition = { never: true };

/** The kind of a value, for a message. */
function describeKind(value: unknown): string {
  if (value === null || value === undefined || typeof value === 'boolean') return String(value);
  if (typeof value !== 'object') return `a ${typeof value}`;
  const name: string = value.constructor?.name || 'object';
  return /^[aeiou]/i.test(name) ? `an ${name}` : `a ${name}`;
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
  const spec = findFieldSpec(resource, field);
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
 * @param decides with `visibility`, an invalid filter also hides every record, but the rest of the response is not lost
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
