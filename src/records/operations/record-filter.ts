import type { FilterFields, FilterRequest, PreparedFilter, StoredRecord } from '../../declare/host.ts';
import type { ResolvedViewContext } from '../access/operation-context.ts';
import { checkRelatedVisibility } from '../access/related-visibility.ts';
import { fieldVisibilityCondition, isFilterable, unknownFilterError } from '../query/filter.ts';
import { type Condition, RelatedCondition } from '../query/list-query.ts';
import { assertGivenOnce, joinNames, queryError, shortenForMessage } from '../query/parameter.ts';
import { isFilter } from '../query/parse.ts';
import { parseFilters } from '../query/parse-filters.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { InputError } from '../schema/rule-errors.ts';
import type { Entity } from '../store/entity.ts';

type Parameter = readonly [name: string, value: string];

/** Whether a condition tests a value that the viewer sees in no record. */
function testsHiddenValue(condition: Condition): boolean {
  // Also for `[exists]=false`, which every record would meet.
  if (condition instanceof RelatedCondition) return condition.some.some(testsHiddenValue);
  if ('any' in condition) return condition.any.length > 0 && condition.any.every(testsHiddenValue);
  return 'every' in condition ? condition.every.some(testsHiddenValue) : 'never' in condition;
}

const hiddenError = (name: string) =>
  queryError(`You may not see "${shortenForMessage(name)}", so a filter cannot use it`);

/** Returns the result of `parse`, or the message of the error of an invalid filter. */
async function parseOrMessage<T>(parse: () => Promise<T>): Promise<T | string> {
  try {
    return await parse();
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
}

/** Returns the conditions of list filters for a viewer, or the message of the error if the viewer may not use them. */
function findConditions(
  { resource }: Entity,
  parameters: readonly Parameter[],
  viewContext: ResolvedViewContext,
): Promise<readonly Condition[] | string> {
  return parseOrMessage(async () => {
    assertGivenOnce(parameters.map(([name]) => name));
    const other = parameters.find(([name, value]) => !isFilter(resource, name, value, viewContext.user));
    if (other !== undefined) throw unknownFilterError(resource, other[0]);
    const parsed = parseFilters(resource, parameters, viewContext.user, false);
    const conditions = await checkRelatedVisibility(parsed, viewContext);
    if (conditions.some(testsHiddenValue)) throw hiddenError(parameters.map(([name]) => name).join(', '));
    return conditions;
  });
}

/** Returns the error of each parameter that the viewer may not use; of the first one if only all together are not allowed. */
async function findErrors(
  entity: Entity,
  parameters: readonly Parameter[],
  viewContext: ResolvedViewContext,
  together: string,
): Promise<Record<string, string>> {
  const errors: [string, string][] = [];
  for (const parameter of parameters) {
    const found = await findConditions(entity, [parameter], viewContext);
    if (typeof found === 'string') errors.push([parameter[0], found]);
  }
  return Object.fromEntries(errors.length > 0 ? errors : [[parameters[0]![0], together]]);
}

/** A field whose change is a condition. */
interface ChangedField {
  name: string;
  /** The condition that the viewer sees the field in a record; undefined if they see it in every record. */
  visibility: Condition | undefined;
}

/** Returns the fields whose change is a condition, or the message of the error. */
function findChangedFields(
  resource: CompiledResource,
  names: readonly string[],
  { user }: ResolvedViewContext,
): Promise<readonly ChangedField[] | string> {
  const readable = resource.fields.filter(({ secret }) => !secret);
  return parseOrMessage(async () =>
    names.map((name): ChangedField => {
      const field = readable.find((one) => one.name === name);
      if (field === undefined) {
        const known = joinNames(readable.map((one) => one.name));
        throw queryError(`Unknown field "${shortenForMessage(name)}"; fields: ${known}`);
      }
      const visibility = fieldVisibilityCondition(resource, field, user);
      if (visibility !== undefined && testsHiddenValue(visibility)) throw hiddenError(name);
      return { name, visibility };
    }),
  );
}

/**
 * Prepares filters of a list, to test single records of a viewer as the list would.
 *
 * @throws the errors of scope functions of related records
 */
export async function prepareFilter(
  entity: Entity,
  { filters, changed = [] }: FilterRequest,
  viewContext: ResolvedViewContext,
): Promise<PreparedFilter> {
  const { resource, store } = entity;
  const parameters = Object.entries(filters);
  const conditions = await findConditions(entity, parameters, viewContext);
  const changedFields = await findChangedFields(resource, changed, viewContext);
  if (typeof conditions === 'string' || typeof changedFields === 'string') {
    const errors = {
      ...(typeof conditions === 'string' && (await findErrors(entity, parameters, viewContext, conditions))),
      ...(typeof changedFields === 'string' && { changed: changedFields }),
    };
    return { errors, includes: () => false, findUnmet: async () => Object.keys(errors)[0] };
  }

  const met = conditions;
  const hasChange = (record: StoredRecord, hasChanged: (field: string) => boolean) =>
    changedFields.length === 0 ||
    changedFields.some(
      ({ name, visibility }) =>
        hasChanged(name) && (visibility === undefined || store.meets([visibility], record) === true),
    );
  const includes: PreparedFilter['includes'] = (record, hasChanged) =>
    hasChange(record, hasChanged) && store.meets(met, record);

  async function findUnmetParameter(record: StoredRecord): Promise<string | undefined> {
    if (await store.meets(met, record)) return undefined;
    for (const parameter of parameters) {
      const own = await findConditions(entity, [parameter], viewContext);
      if (typeof own === 'string' || !(await store.meets(own, record))) return parameter[0];
    }
    // Conditions on related records can be met one by one, but by no single related record.
    return parameters.find(([name]) => name.includes('.'))?.[0] ?? parameters[0]?.[0];
  }

  return {
    errors: {},
    includes,
    async findUnmet(record, hasChanged) {
      return (await findUnmetParameter(record)) ?? (hasChange(record, hasChanged) ? undefined : 'changed');
    },
  };
}

/** Returns the fields that a viewer may filter by, with their operators, and those whose changes may be a condition. */
export function listFilterFields(
  resource: CompiledResource,
  { user }: Pick<ResolvedViewContext, 'user'>,
): FilterFields {
  const visible = resource.fields.filter((field) => {
    const visibility = fieldVisibilityCondition(resource, field, user);
    return !field.secret && (visibility === undefined || !testsHiddenValue(visibility));
  });
  const filterable = visible.filter(({ name }) => isFilterable(resource, name));
  return {
    filters: filterable.map(({ name, operators }) => ({ field: name, operators: [...operators] })),
    changed: visible.map(({ name }) => name),
  };
}

/**
 * Converts a record that was serialized for a viewer back to a stored one. It lacks the fields that the viewer did not see; expanded
 * references are ids again.
 */
export function recordFromSerialized(
  resource: CompiledResource,
  data: Readonly<Record<string, unknown>>,
): StoredRecord {
  const toId = (value: unknown) =>
    typeof value === 'object' && value !== null && 'id' in value ? (value as { id: unknown }).id : value;
  const values = Object.entries(data).map(([name, value]) => {
    const isReference = resource.field.get(name)?.target !== undefined;
    return [name, isReference ? (Array.isArray(value) ? value.map(toId) : toId(value)) : value];
  });
  return { ...Object.fromEntries(values), id: String(data.id) };
}
