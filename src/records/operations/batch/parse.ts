import { allowsEveryRecord } from '../../../declare/policy.ts';
import type { Action } from '../../../declare/resource.ts';
import { ApiError, type ErrorDetails, validationError } from '../../../platform/helpers/errors.ts';
import type { OperationContext } from '../../access/operation-context.ts';
import { supportedOperatorsOf } from '../../fields/field-type.ts';
import { isBlank, missingValueMessage } from '../../fields/missing-values.ts';
import { toComparableValue } from '../../query/comparison.ts';
import { shortenForMessage } from '../../query/parameter.ts';
import type { CompiledField, CompiledResource } from '../../schema/compiled.ts';
import { type IfMatch, parseIfMatch, versionOfTime } from '../../store/versions.ts';
import { BATCH_OPERATIONS, type BatchItem, type BatchOperation } from './item.ts';

/** Whether all operations of a batch succeed together, or each by itself. */
type BatchMode = 'atomic' | 'perItem';

/** A parsed batch: its items, and the errors of operations that are malformed, by their place. */
export interface ParsedBatch {
  mode: BatchMode;
  items: BatchItem[];
  malformed: { place: number; error: ApiError }[];
}

const KEYS: Record<BatchOperation, readonly string[]> = {
  create: ['op', 'data'],
  update: ['op', 'id', 'data', 'ifMatch'],
  upsert: ['op', 'by', 'data'],
  delete: ['op', 'id', 'ifMatch'],
};

/** An action that changes records. */
export type WriteAction = Exclude<Action, 'list' | 'read'>;

/** The actions that an operation may perform. The resource must have the routes of all of them. */
const ACTIONS_OF: Record<BatchOperation, readonly WriteAction[]> = {
  create: ['create'],
  update: ['update'],
  upsert: ['create', 'update'],
  delete: ['delete'],
};

const ISO_TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The actions that an operation may perform; none if there is no such operation. */
export function actionsOf(op: unknown): readonly WriteAction[] {
  const known = BATCH_OPERATIONS.find((one) => one === op);
  return known === undefined ? [] : ACTIONS_OF[known];
}

/** The operations that the resource's routes allow. */
export function batchOperationsOf({ actions }: Pick<CompiledResource, 'actions'>): BatchOperation[] {
  return BATCH_OPERATIONS.filter((op) => ACTIONS_OF[op].every((action) => actions.has(action)));
}

/** For a field whose values are unique within an organisation: the field of that organisation. Otherwise undefined. */
export function tenantOfUniqueField(
  { fields, indexes }: CompiledResource,
  { name, spec }: CompiledField,
): CompiledField | undefined {
  const tenant = fields.find((field) => field.spec.tenant);
  if (tenant === undefined || tenant.name === name || spec.unique) return undefined;
  const isUnique = indexes.some(
    ({ unique, terms }) =>
      unique && terms.length === 2 && [name, tenant.name].every((one) => terms.some(({ field }) => field === one)),
  );
  return isUnique ? tenant : undefined;
}

/**
 * The fields that the caller may upsert records by. They are unique, at least within an organisation, and visible to the caller in every
 * record: otherwise an upsert could test for values that the caller may not see.
 */
export function fieldsToUpsertBy(
  resource: CompiledResource,
  { system, user }: Pick<OperationContext, 'system' | 'user'>,
): CompiledField[] {
  return resource.fields.filter((field) => {
    const { spec, type, secret, visibleTo, transforms } = field;
    if (!spec.unique && tenantOfUniqueField(resource, field) === undefined) return false;
    if (spec.encrypted || type.concealed || transforms || spec.inner !== undefined) return false;
    if (!supportedOperatorsOf(spec).includes('eq')) return false;
    return system || (!secret && (visibleTo === undefined || allowsEveryRecord(visibleTo, user)));
  });
}

/**
 * The unique field of an upsert, and its value in the input.
 *
 * @throws ApiError VALIDATION_ERROR if the input has no value for the field
 */
export function parseUpsertKey(field: CompiledField, data: unknown): BatchItem['by'] {
  const given = isObject(data) && Object.hasOwn(data, field.name) ? data[field.name] : undefined;
  if (isBlank(given)) throw validationError({ [field.name]: missingValueMessage(field.spec) });
  // An invalid value identifies no record. The validation of the create then reports it.
  const parsed = field.schema.safeParse(given);
  return { field, value: parsed.success ? toComparableValue(field.spec, parsed.data) : undefined };
}

function parseBy(resource: CompiledResource, by: unknown, data: unknown, operation: OperationContext): BatchItem['by'] {
  const fields = fieldsToUpsertBy(resource, operation);
  const field = fields.find(({ name }) => name === by);
  if (field !== undefined) return parseUpsertKey(field, data);
  const names = fields.map(({ name }) => name);
  throw validationError({
    by:
      names.length === 0
        ? 'Must be a unique field that you can see; this resource has none'
        : `Must be a unique field: ${names.join(', ')}`,
  });
}

/** Parses `ifMatch`: the `updatedAt` of the record, or an entity tag as in the header. */
function parseItemIfMatch({ timestamps }: CompiledResource, value: unknown): IfMatch | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && timestamps && ISO_TIME.test(value) && !Number.isNaN(Date.parse(value)))
    return [versionOfTime(value)];
  const versions = typeof value === 'string' ? parseIfMatch(value) : undefined;
  if (versions !== undefined) return versions;
  const time = timestamps ? 'the updatedAt of the record, or ' : '';
  throw new ApiError('BAD_REQUEST', undefined, {
    details: { ifMatch: `Must be ${time}* or a list of entity tags in double quotes` },
  });
}

/** Parses an operation. @throws ApiError, as the route of the operation would */
function parseItem(resource: CompiledResource, given: unknown, place: number, operation: OperationContext): BatchItem {
  if (!isObject(given)) throw validationError({ op: 'Must be an object such as { "op": "create", "data": { … } }' });
  const op = BATCH_OPERATIONS.find((one) => one === given.op);
  if (op === undefined) throw validationError({ op: `Must be one of ${batchOperationsOf(resource).join(', ')}` });
  if (!ACTIONS_OF[op].every((action) => resource.actions.has(action)))
    throw new ApiError('METHOD_NOT_ALLOWED', `This resource does not support the operation "${op}"`);
  const details: ErrorDetails = {};
  for (const key of Object.keys(given)) {
    if (!KEYS[op].includes(key)) details[shortenForMessage(key)] = 'Unknown field';
  }
  const needsId = op === 'update' || op === 'delete';
  if (needsId && typeof given.id !== 'string') details.id = 'Must be a string';
  if (Object.keys(details).length > 0) throw validationError(details);
  const ifMatch = parseItemIfMatch(resource, given.ifMatch);
  return {
    place,
    op,
    id: needsId ? (given.id as string) : undefined,
    data: given.data,
    by: op === 'upsert' ? parseBy(resource, given.by, given.data, operation) : undefined,
    operation: ifMatch === undefined ? operation : { ...operation, ifMatch },
  };
}

/**
 * Parses the body of a batch.
 *
 * @param max the maximum number of operations
 * @throws ApiError VALIDATION_ERROR if the body itself is malformed
 */
export function parseBatch(
  resource: CompiledResource,
  body: unknown,
  operation: OperationContext,
  max: number,
): ParsedBatch {
  if (!isObject(body)) throw validationError({ body: 'Must be an object' });
  const details: ErrorDetails = {};
  const { mode = 'atomic', operations, ...others } = body;
  for (const key of Object.keys(others)) details[shortenForMessage(key)] = 'Unknown field';
  if (mode !== 'atomic' && mode !== 'perItem') details.mode = 'Must be atomic or perItem';
  if (!Array.isArray(operations)) details.operations = 'Must be a list of operations';
  else if (operations.length === 0 || operations.length > max)
    details.operations = `Must have 1 to ${max} operations, not ${operations.length}`;
  if (Object.keys(details).length > 0) throw validationError(details);
  const batch: ParsedBatch = { mode: mode as BatchMode, items: [], malformed: [] };
  for (const [place, given] of (operations as unknown[]).entries()) {
    try {
      batch.items.push(parseItem(resource, given, place, operation));
    } catch (error) {
      batch.malformed.push({ place, error: error as ApiError });
    }
  }
  return batch;
}
