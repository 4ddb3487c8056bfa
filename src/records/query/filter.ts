import { viewerThroughRelation } from '../../declare/actor.ts';
import { allowsEveryRecord, type Viewer } from '../../declare/policy.ts';
import type { Operator } from '../../declare/service.ts';
import type { ApiError } from '../../platform/helpers/errors.ts';
import { findStoredForms, toComparedText } from '../fields/text-rules.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
import { clientVisibleReverseRelations } from '../schema/relations.ts';
import { type Condition, createComparison, type ListCondition } from './list-query.ts';
import { joinNames, queryError, shortenForMessage } from './parameter.ts';

/** The viewer of a query: a user, undefined for a signed-out caller, or the system, which sees every field. */
export type QueryViewer = Viewer | 'system' | undefined;

/** The viewer of a query, for the records that its paths lead to. */
export function relatedQueryViewer(viewer: QueryViewer, target: CompiledResource): QueryViewer {
  return viewer === 'system' ? viewer : viewerThroughRelation(viewer, target.name);
}

/**
 * The condition that this viewer may see the field in a record. Undefined if the viewer sees the field in every record. A query must not
 * reveal values that a response would leave out.
 */
export function fieldVisibilityCondition(
  resource: CompiledResource,
  field: CompiledField,
  viewer: QueryViewer,
): Condition | undefined {
  const policy = field.visibleTo;
  if (viewer === 'system' || policy === undefined || allowsEveryRecord(policy, viewer)) return undefined;
  if (policy.owner && viewer !== undefined && resource.ownerField !== undefined) {
    return { field: resource.ownerField, op: 'eq', value: viewer.id };
  }
  return { never: true };
}

/** Operators that take a comma-separated list. */
export const LIST_OPERATORS: ReadonlySet<Operator> = new Set<Operator>(['in', 'nin', 'all']);
/** Maximum number of values in one `in`, `nin` or `all`. */
export const MAX_LIST_VALUES = 1000;
/** Maximum length of `q` in characters. */
export const MAX_SEARCH_LENGTH = 500;
/** A field with an optional operator in brackets. */
export const FILTER_PARAMETER = /^([^[\]]+)(?:\[([^[\]]+)\])?$/;

/** Whether clients may filter by a field with this name. */
export function isFilterable(resource: CompiledResource, name: string): boolean {
  const field = resource.field.get(name);
  return field !== undefined && !field.secret && field.operators.size > 0;
}

/** The error for a filter that clients may not use. */
export function unknownFilterError(resource: CompiledResource, parameter: string): ApiError {
  const filterable = resource.fields.map((field) => field.name).filter((one) => isFilterable(resource, one));
  const of = parameter.includes('.') ? ` of "${resource.name}"` : '';
  const relations = clientVisibleReverseRelations(resource).map(({ name }) => name);
  const followed = relations.length === 0 ? '' : `; relations, as in ${relations[0]}[exists]: ${joinNames(relations)}`;
  return queryError(
    `Unknown query parameter "${shortenForMessage(parameter)}"; filterable fields${of}: ${joinNames(filterable)}${followed}`,
  );
}

function parseComparedValue(field: CompiledField, parameter: string, op: Operator, text: string): unknown {
  if (op === 'exists') {
    if (text !== 'true' && text !== 'false')
      throw queryError(`The query parameter "${parameter}" must be true or false`);
    return text === 'true';
  }
  const parseValue = (part: string) => {
    const value = field.type.fromQuery?.(part, field.spec);
    if (value === undefined) throw queryError(`The query parameter "${parameter}" has a value of the wrong type`);
    return value;
  };
  if (!LIST_OPERATORS.has(op)) return parseValue(text);
  const parts = text.split(',').filter((part) => part !== '');
  if (parts.length === 0) throw queryError(`The query parameter "${parameter}" needs at least one value`);
  if (parts.length > MAX_LIST_VALUES) {
    throw queryError(`The query parameter "${parameter}" takes at most ${MAX_LIST_VALUES} values`);
  }
  return parts.map(parseValue);
}

/**
 * `field=value` or `field[op]=value` as conditions: the comparison, and the limit to records where the viewer may see the field.
 *
 * @param parameter the whole parameter, for messages
 */
export function parseFieldFilter(
  resource: CompiledResource,
  { name, operator, parameter }: { name: string; operator: string; parameter: string },
  text: string,
  viewer: QueryViewer,
): Condition[] {
  if (!isFilterable(resource, name)) throw unknownFilterError(resource, parameter);
  const field = resource.field.get(name)!;
  const op = operator as Operator;
  if (!field.operators.has(op)) {
    throw queryError(
      `The field "${name}" cannot be filtered with "${shortenForMessage(operator)}"; its operators: ${joinNames(field.operators)}`,
    );
  }
  const comparison = createComparison(name, field.spec, op, parseComparedValue(field, parameter, op, text));
  const visibility = fieldVisibilityCondition(resource, field, viewer);
  return visibility === undefined ? [comparison] : [visibility, comparison];
}

/** The condition that a field contains a text, in any of its stored forms. */
function containsCondition({ name, spec }: CompiledField, text: string): ListCondition {
  const forms = findStoredForms(toComparedText(text, spec), spec);
  const any = forms.map((contains): ListCondition => ({ field: name, contains }));
  return any.length === 1 ? any[0]! : { any };
}

/** `q` as a condition: at least one searchable field that the viewer may see contains the text. Undefined for an empty text. */
export function parseSearch(resource: CompiledResource, text: string, viewer: QueryViewer): ListCondition | undefined {
  const fields = resource.fields.filter((field) => field.spec.searchable && !field.secret);
  if (fields.length === 0) throw queryError('Unknown query parameter "q"; this resource is not searchable');
  if (text.length > MAX_SEARCH_LENGTH) {
    throw queryError(`The query parameter "q" takes at most ${MAX_SEARCH_LENGTH} characters`);
  }
  if (text === '') return undefined;
  const any = fields.map((field): ListCondition => {
    const contains = containsCondition(field, text);
    const visibility = fieldVisibilityCondition(resource, field, viewer);
    return visibility === undefined ? contains : { every: [visibility, contains] };
  });
  return { any };
}
