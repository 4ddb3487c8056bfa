import type { FieldSpec } from '../../declare/field.ts';
import type { Operator } from '../../declare/service.ts';
import { fieldTypeOf, supportedOperatorsOf } from '../fields/field-type.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import {
  createComparisonFromCode,
  EQUALITY_OPERATORS,
  findFieldSpec,
  isOperatorObject,
  toComparableValue,
} from './comparison.ts';
import {
  fieldVisibilityCondition,
  isFilterable,
  LIST_OPERATORS,
  MAX_LIST_VALUES,
  type QueryViewer,
  unknownFilterError,
} from './filter.ts';
import type { Condition } from './list-query.ts';
import { joinNames, queryError, requireSingleText } from './parameter.ts';
import { queryCondition, RecordQuery } from './record-query.ts';

/** A field that code may filter by, and its operators. */
interface FilterableField {
  name: string;
  spec: FieldSpec;
  operators: ReadonlySet<string>;
}

/**
 * The system filters by every stored field with comparable values. Code that acts for a user filters only by fields that clients may use.
 */
function resolveFilterableField(resource: CompiledResource, name: string, viewer: QueryViewer): FilterableField {
  if (viewer !== 'system') {
    if (!isFilterable(resource, name)) throw unknownFilterError(resource, name);
    const { spec, operators } = resource.field.get(name)!;
    return { name, spec, operators };
  }
  const spec = findFieldSpec(resource, name);
  if (spec === undefined || fieldTypeOf(spec).concealed) {
    const known = resource.fields.filter((field) => !field.type.concealed).map((field) => field.name);
    throw queryError(`Unknown field "${name}" in a filter; filterable fields: ${joinNames(['id', ...known])}`);
  }
  return { name, spec, operators: new Set(supportedOperatorsOf(spec)) };
}

function toComparedValue({ name, spec }: FilterableField, value: unknown): unknown {
  // Converts a text as in a query string: it may represent a number, and is trimmed and lower-cased as the field declares.
  const convertAsText = () => fieldTypeOf(spec).fromQuery?.(requireSingleText(name, String(value)), spec);
  const known = typeof value === 'string' ? convertAsText() : toComparableValue(spec, value);
  const found = known ?? (typeof value === 'number' || typeof value === 'boolean' ? convertAsText() : undefined);
  if (found === undefined) throw queryError(`The filter "${name}" has a value of the wrong type`);
  return found;
}

function parseOperand(field: FilterableField, op: Operator, value: unknown): unknown {
  if (op === 'exists') {
    if (value === true || value === 'true') return true;
    if (value === false || value === 'false') return false;
    throw queryError(`The operator "exists" of the filter "${field.name}" takes true or false`);
  }
  if (!LIST_OPERATORS.has(op))
    return value === null && EQUALITY_OPERATORS.has(op) ? null : toComparedValue(field, value);
  const list = typeof value === 'string' ? value.split(',') : value;
  if (!Array.isArray(list)) throw queryError(`The operator "${op}" of the filter "${field.name}" takes a list`);
  if (list.length > MAX_LIST_VALUES)
    throw queryError(`The filter "${field.name}" takes at most ${MAX_LIST_VALUES} values`);
  return list.map((one) => (one === null ? null : toComparedValue(field, one)));
}

function operatorTermsOf(value: unknown): (readonly [string, unknown])[] {
  if (Array.isArray(value)) return [['in', value]];
  return isOperatorObject(value) ? Object.entries(value) : [['eq', value]];
}

/** @throws TypeError for an undefined value: without its condition, the list would contain the records of all users */
function assertFilterDefined(parameter: string, value: unknown): void {
  const inside = isOperatorObject(value) ? Object.values(value) : [value];
  if (!inside.flat().includes(undefined)) return;
  throw new TypeError(`the filter "${parameter}" is undefined; leave it out, or pass null for records without a value`);
}

/**
 * Converts a filter that code passed to conditions: its comparisons, and the condition that the viewer may see the field in the record.
 *
 * @param parameter the whole parameter, for messages
 * @param value any value that a query string can express, or a list, null, a Date, or operators with their values
 * @throws ApiError BAD_REQUEST naming the field and the allowed filters; TypeError for undefined
 */
export function parseCodeFieldFilter(
  resource: CompiledResource,
  { name, operator, parameter }: { name: string; operator: string | undefined; parameter: string },
  value: unknown,
  viewer: QueryViewer,
): Condition[] {
  assertFilterDefined(parameter, value);
  const field = resolveFilterableField(resource, name, viewer);
  const terms = operator === undefined ? operatorTermsOf(value) : [[operator, value] as const];
  if (terms.length === 0) throw queryError(`The filter "${parameter}" needs an operator, such as { gte: 3 }`);
  const conditions = terms.map(([op, wanted]) => {
    const missing = wanted === null && EQUALITY_OPERATORS.has(op);
    if (!field.operators.has(missing ? 'exists' : op)) {
      throw queryError(
        `The field "${name}" cannot be filtered with "${op}"; its operators: ${joinNames(field.operators)}`,
      );
    }
    if (wanted instanceof RecordQuery) return queryCondition(resource, name, op, wanted);
    return createComparisonFromCode(name, field.spec, op as Operator, parseOperand(field, op as Operator, wanted));
  });
  const declared = resource.field.get(name);
  const seen = declared === undefined ? undefined : fieldVisibilityCondition(resource, declared, viewer);
  return seen === undefined ? conditions : [seen, ...conditions];
}
