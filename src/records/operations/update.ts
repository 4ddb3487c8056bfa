import type { StoredRecord } from '../../declare/host.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { policyConditionsForWrite } from '../access/authorize.ts';
import type { OperationContext } from '../access/operation-context.ts';
import {
  assertNoMissingReferences,
  findMissingReferences,
  hadReference,
  idsChosenByCaller,
  locksReferences,
} from '../references/check-references.ts';
import type { CompiledResource, Values } from '../schema/compiled.ts';
import type { Entity } from '../store/entity.ts';
import type { WriteCondition, WriteResult } from '../store/store.ts';
import { ifMatchConditions } from '../store/versions.ts';
import { toConflictError } from '../writes/conflict-errors.ts';
import { attachFiles, mayAttachFiles, resolveFiles } from '../writes/files.ts';
import type { ChangeGuard } from '../writes/guard.ts';
import { checkWritten, findGuard } from '../writes/guard.ts';
import { applyBeforeHook } from '../writes/hooks.ts';
import { needsRecordForVisibility, setsUnseenField } from '../writes/unseen-fields.ts';
import { needsStoredRecord, validateInput } from '../writes/validate.ts';
import {
  conditionsAfterLoad,
  createChangeCause,
  hashPasswords,
  loadAuthorizedForWrite,
  retryOnConflict,
  runAfterCommitSteps,
  unchangedCondition,
} from '../writes/write-steps.ts';
import type { RecordsContext } from './context.ts';

/** The validation rules of an update's input. */
function createValidationRules(
  { settings: { unknownFields, http }, entities }: RecordsContext,
  { name }: CompiledResource,
  before: StoredRecord | undefined,
) {
  const meets = entities.get(name)?.store.meets;
  return { unknownFields, maxUnknown: http.bodyKeys, updating: true, before, meets };
}

/**
 * Validates the input of an update, before its hook runs.
 *
 * @param before the record before the update; required if `needsStoredRecord` returns true
 * @throws ApiError VALIDATION_ERROR with a message per field
 */
export function validateUpdate(
  context: RecordsContext,
  resource: CompiledResource,
  before: StoredRecord | undefined,
  input: unknown,
  operation: OperationContext,
): Promise<Values> {
  return validateInput(resource, input, operation, createValidationRules(context, resource, before));
}

/** Whether setting the fields of an update adds values that depend on the stored record. */
export function derivesChanges(context: RecordsContext, { name }: CompiledResource, input: unknown): boolean {
  const derived = context.derivedChanges.get(name);
  return derived !== undefined && Object.hasOwn(Object(input), derived.field);
}

/** Runs the steps after a record was updated: events, listeners and the hook. An update that changed nothing has none. */
export async function runAfterUpdate(
  context: RecordsContext,
  { resource }: Entity,
  { record, previous, isChanged }: WriteResult,
  operation: OperationContext,
): Promise<void> {
  if (!isChanged) return;
  await runAfterCommitSteps(context, resource, { action: 'updated', record, previous }, operation, (ctx) =>
    resource.declaration.hooks?.afterUpdate?.(record as never, previous as never, ctx),
  );
}

/** The guard of an update that sets one of its fields; undefined if there is none. */
export function createUpdateGuard(
  context: RecordsContext,
  resource: CompiledResource,
  input: unknown,
  operation: OperationContext,
): ChangeGuard | undefined {
  const guard = findGuard(context, resource, operation);
  const sets = guard !== undefined && Object.keys(Object(input)).some((name) => guard.fields.has(name));
  return sets ? guard : undefined;
}

/** An attempt to change a record whose changes are guarded, in a transaction. Returns undefined as `attemptUpdate` does. */
async function attemptGuardedUpdate(
  guard: ChangeGuard,
  ...[context, entity, id, input, operation]: Parameters<typeof attemptUpdate>
): Promise<WriteResult | undefined> {
  await guard.lock(context.database);
  const written = await attemptUpdate(context, entity, id, input, operation);
  if (written !== undefined)
    await checkWritten(context, guard, { before: written.previous, after: written.record }, operation);
  return written;
}

/** One attempt to change a record. Returns undefined if the record changed between the policy check and the write. */
async function attemptUpdate(
  context: RecordsContext,
  entity: Entity,
  id: string,
  input: unknown,
  operation: OperationContext,
): Promise<WriteResult | undefined> {
  const { resource, store } = entity;
  const beforeUpdate = resource.declaration.hooks?.beforeUpdate;
  const allowed = operation.system ? [] : await policyConditionsForWrite(resource, 'update', operation);
  let conditions: WriteCondition[] | undefined = allowed;
  let before: StoredRecord | undefined;
  const derived = context.derivedChanges.get(resource.name);
  const loads =
    beforeUpdate !== undefined ||
    derivesChanges(context, resource, input) ||
    needsStoredRecord(resource, input) ||
    needsRecordForVisibility(resource, input, operation);
  if (!isId(id) || conditions === undefined || loads) {
    before = await loadAuthorizedForWrite(entity, id, 'update', operation);
    conditions = [...(await conditionsAfterLoad(entity, allowed, operation)), ...unchangedCondition(entity, before)];
  }
  // Before the hook: it may open a transaction, and functions of `visibleTo` could not use other services inside it.
  const isForced = await setsUnseenField(entity, input, before, operation);
  let changes: Values;
  try {
    const sent = resource.holdsFiles
      ? await resolveFiles(context, resource, input, operation, { recordId: id })
      : input;
    changes = await validateUpdate(context, resource, before, sent, operation);
  } catch (error) {
    // Authorize first: a caller that may not change the record must not get validation errors.
    if (before === undefined) await loadAuthorizedForWrite(entity, id, 'update', operation);
    throw error;
  }
  let validated = changes;
  if (beforeUpdate !== undefined) {
    const given = changes;
    ({ values: changes, validated } = await applyBeforeHook(context, resource, given, operation, {
      run: (ctx) => beforeUpdate(given, before as never, ctx),
      rules: createValidationRules(context, resource, before),
      recordId: id,
    }));
  }
  // A hook may have added the field, to a record that is then loaded as well.
  if (derived !== undefined && before !== undefined && derived.field in changes)
    changes = derived.derive(changes, before);
  if (resource.checkedReferences.length > 0) {
    const isChosenByCaller = idsChosenByCaller(input, validated);
    const [missing] = await findMissingReferences(
      context,
      resource,
      [{ values: changes, isChosenByCaller }],
      operation,
    );
    if (missing!.length > 0) {
      // Authorize first, as above. A reference that the record holds already may be sent back, even if its record is hidden from the caller.
      const held = before ?? (await loadAuthorizedForWrite(entity, id, 'update', operation));
      const added = missing!.filter((one) => !hadReference(one, held));
      assertNoMissingReferences(resource, added, operation);
    }
  }
  const hashed = await hashPasswords(context, resource, changes);
  const guarded = [...conditions, ...ifMatchConditions(resource, operation.ifMatch)];
  const cause = createChangeCause(context, operation);
  const written = await store.update(id, hashed, guarded, cause, { before, isForced }).catch((error: unknown) => {
    throw toConflictError(resource, error);
  });
  if (written === undefined) await loadAuthorizedForWrite(entity, id, 'update', operation);
  else if (resource.holdsFiles && written.isChanged) await attachFiles(context, resource, id, changes);
  return written;
}

/**
 * Updates a record. If the policy can be expressed in SQL (a role, the owner), the record is not loaded first: one statement checks the
 * policy, changes the record and writes the event. If the statement matches no row, a second query decides between 403 and 404.
 */
export async function updateRecordWithPrevious(
  context: RecordsContext,
  entity: Entity,
  id: string,
  input: unknown,
  operation: OperationContext,
): Promise<WriteResult> {
  const { resource } = entity;
  const hook = resource.declaration.hooks?.beforeUpdate;
  const guard = createUpdateGuard(context, resource, input, operation);
  const always = mayAttachFiles(context, resource, input, hook) || guard !== undefined;
  const usesTransaction = hook !== undefined || locksReferences(resource) || always;
  const written = await retryOnConflict(entity, id, operation, (as) =>
    usesTransaction
      ? context.withTransaction(
          entity,
          as,
          (txContext, txEntity, txOperation) =>
            guard === undefined
              ? attemptUpdate(txContext, txEntity, id, input, txOperation)
              : attemptGuardedUpdate(guard, txContext, txEntity, id, input, txOperation),
          { always },
        )
      : attemptUpdate(context, entity, id, input, as),
  );
  await runAfterUpdate(context, entity, written, operation);
  return written;
}

/** Like `updateRecordWithPrevious`, but returns only the updated record. */
export async function updateRecord(...parameters: Parameters<typeof updateRecordWithPrevious>): Promise<StoredRecord> {
  return (await updateRecordWithPrevious(...parameters)).record;
}
