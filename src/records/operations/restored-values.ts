import { isDeepStrictEqual } from 'node:util';
import type { StoredRecord } from '../../declare/host.ts';
import { ApiError, type ErrorDetails, validationError } from '../../platform/helpers/errors.ts';
import type { OperationContext } from '../access/operation-context.ts';
import { isFieldVisible } from '../access/visibility.ts';
import { createValidDefault, missingValueMessage } from '../fields/missing-values.ts';
import { assertNoMissingReferences, findMissingReferences } from '../references/check-references.ts';
import type { CompiledResource, Values } from '../schema/compiled.ts';
import { allFieldValuesOf } from '../store/codec.ts';
import type { Entity } from '../store/entity.ts';
import { resolveFiles } from '../writes/files.ts';
import { createHookContext, runBeforeHook } from '../writes/hooks.ts';
import { validateInput } from '../writes/validate.ts';
import type { RecordsContext } from './context.ts';

/** Whether code of the project runs before records of a resource are restored. */
export function hasRestoreHook({ declaration: { hooks } }: CompiledResource): boolean {
  return hooks?.beforeRestore !== undefined || hooks?.beforeCreate !== undefined;
}

/** The field values of a record, without its times and passwords. */
function fieldValuesOf(resource: CompiledResource, record: StoredRecord): Values {
  const all = allFieldValuesOf(resource, record);
  const set = resource.fields.filter(({ name, type }) => !type.concealed && all[name] !== undefined);
  return Object.fromEntries(set.map(({ name }) => [name, all[name]]));
}

/**
 * The error of stored values that no longer meet the rules. It names only fields that the caller sees: nobody sent the values.
 *
 * @returns any other error unchanged
 */
async function toRestoreError(
  entity: Entity,
  record: StoredRecord,
  error: unknown,
  operation: OperationContext,
): Promise<unknown> {
  if (!(error instanceof ApiError && error.code === 'VALIDATION_ERROR')) return error;
  const details: ErrorDetails = {};
  for (const [path, message] of Object.entries(error.details ?? {})) {
    const field = entity.resource.field.get(path.split('.', 1)[0]!);
    const isVisible = field !== undefined && (await isFieldVisible(entity, field, record, operation));
    if (operation.system || isVisible) details[path] = message;
  }
  if (Object.keys(details).length > 0) return validationError(details);
  return new ApiError('CONFLICT', 'The record no longer meets the rules, so it cannot be restored');
}

/**
 * Checks stored values against the rules of the fields. Values of files were checked when they were uploaded; the output of a schema is no
 * valid input of it.
 *
 * @throws ApiError VALIDATION_ERROR
 */
async function assertMeetsRules(
  { settings: { unknownFields } }: RecordsContext,
  resource: CompiledResource,
  record: StoredRecord,
  values: Values,
  operation: OperationContext,
): Promise<void> {
  const checked = resource.fields.filter(({ holdsFiles, transforms }) => !holdsFiles && !transforms);
  const given = checked.flatMap(({ name }) => (values[name] === undefined ? [] : [[name, values[name]]]));
  const before = { ...values, id: record.id } as StoredRecord;
  const options = { unknownFields, maxUnknown: 0, updating: true, before };
  await validateInput(resource, Object.fromEntries(given), { ...operation, system: true }, options);
}

/** Fills required fields that have no value with their default. @throws ApiError VALIDATION_ERROR for fields without a default */
function fillRequired(resource: CompiledResource, values: Values): Values {
  const filled = { ...values };
  const details: ErrorDetails = {};
  for (const { name, spec, type, schema } of resource.fields) {
    if (!spec.required || type.concealed || (filled[name] !== undefined && filled[name] !== null)) continue;
    const value = 'default' in spec ? createValidDefault(name, spec, schema) : undefined;
    if (value === undefined) details[name] = missingValueMessage(spec);
    else filled[name] = value;
  }
  if (Object.keys(details).length > 0) throw validationError(details);
  return filled;
}

/** Runs the hook of a restore: `beforeRestore`, or else `beforeCreate`. Returns the values that it sets, not validated yet; null clears. */
async function runBeforeRestore(
  context: RecordsContext,
  { declaration, name }: CompiledResource,
  record: StoredRecord,
  stored: Values,
  operation: OperationContext,
): Promise<Values> {
  const { beforeRestore, beforeCreate } = declaration.hooks ?? {};
  const ctx = createHookContext(context, operation, true);
  if (beforeRestore !== undefined) {
    const returned = await runBeforeHook(name, 'beforeRestore', {}, () => beforeRestore(record as never, ctx));
    const { deletedAt: _deletedAt, ...changes } = returned as Values;
    return changes;
  }
  const given = structuredClone(stored);
  const values = (await runBeforeHook(name, 'beforeCreate', given, () => beforeCreate!(given, ctx))) as Values;
  // As in a create, a value that the hook leaves out is not stored.
  const leftOut = Object.keys(stored).filter((field) => values[field] === undefined);
  return { ...values, ...Object.fromEntries(leftOut.map((field) => [field, null])) };
}

/** Validates the values that a hook changed, like the system's input. */
async function validateChanges(
  context: RecordsContext,
  resource: CompiledResource,
  record: StoredRecord,
  { changes, stored }: { changes: Values; stored: Values },
  operation: OperationContext,
): Promise<Values> {
  const asSystem = { ...operation, system: true };
  const input = resource.holdsFiles
    ? await resolveFiles(context, resource, changes, asSystem, { recordId: record.id, validated: stored })
    : changes;
  const { unknownFields, http } = context.settings;
  const options = { unknownFields, maxUnknown: http.bodyKeys, updating: true, before: record, validated: stored };
  return validateInput(resource, input, asSystem, options);
}

/**
 * Prepares a deleted record for its restore, with the rules of a create: its values must be valid, and the hook runs.
 *
 * @returns the values to store instead of the record's own: values that the hook changed, and defaults of required fields
 * @throws ApiError VALIDATION_ERROR or CONFLICT if the values no longer meet the rules; errors of the hook
 */
export async function prepareRestoredValues(
  context: RecordsContext,
  entity: Entity,
  record: StoredRecord,
  operation: OperationContext,
): Promise<Values> {
  const { resource } = entity;
  const stored = fieldValuesOf(resource, record);
  const isRepairedByHook = resource.declaration.hooks?.beforeRestore !== undefined;
  const check = async (work: () => Promise<Values>) => {
    try {
      return await work();
    } catch (error) {
      throw await toRestoreError(entity, record, error, operation);
    }
  };
  const assertValid = (values: Values) => assertMeetsRules(context, resource, record, values, operation);
  if (!isRepairedByHook) await check(async () => assertValid(stored).then(() => stored));
  let values = stored;
  if (hasRestoreHook(resource)) {
    const changes = await runBeforeRestore(context, resource, record, stored, operation);
    values = { ...stored, ...(await validateChanges(context, resource, record, { changes, stored }, operation)) };
  }
  const filled = await check(async () => {
    const all = fillRequired(resource, values);
    if (isRepairedByHook) await assertValid(all);
    return all;
  });
  const changed = Object.entries(filled).filter(
    ([name, value]) => !isDeepStrictEqual(value ?? undefined, stored[name]),
  );
  const result: Values = Object.fromEntries(changed);
  const references = [{ values: result, isChosenByCaller: () => false }];
  const [missing] = await findMissingReferences(context, resource, references, operation);
  assertNoMissingReferences(resource, missing!, operation);
  return result;
}
