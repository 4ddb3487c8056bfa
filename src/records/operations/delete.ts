import type { StoredRecord } from '../../declare/host.ts';
import { ApiError } from '../../platform/errors.ts';
import { isId } from '../../platform/ids.ts';
import { loadAuthorizedRecord, policyConditionsForWrite } from '../access/authorize.ts';
import { authorizeRestore, listPrivilegesThatAllowedDeletion } from '../access/deleted-under.ts';
import type { OperationContext } from '../access/operation-context.ts';
import { runProjectCode } from '../access/rule-errors.ts';
import type { Entity, RecordsContext } from '../context.ts';
import type { AffectedRecords, Deletion } from '../references/affected-records.ts';
import { checkForeignKeys, prepareDeletion, releaseReferences, toDeletionError } from '../references/cascade.ts';
import { needsPreparedRestore, prepareRestore, restoreCascaded } from '../references/restore.ts';
import type { Archive } from '../store/archive.ts';
import type { WriteCondition } from '../store/store.ts';
import { checkWritten, guardOf } from './guard.ts';
import { createHookContext, resolveHookResult } from './hooks.ts';
import { assertIfMatch, ifMatchConditions } from './versions.ts';
import {
  changeCauseOf,
  conditionsAfterLoad,
  loadAuthorizedForWrite,
  retryOnConflict,
  runAfterCommitSteps,
  toConflictError,
  unchangedCondition,
} from './write-steps.ts';

/** One attempt to delete a record. Returns undefined if the record changed between the policy check and the write. */
async function attemptDelete(
  context: RecordsContext,
  entity: Entity,
  id: string,
  operation: OperationContext,
): Promise<StoredRecord | undefined> {
  const { resource, store } = entity;
  const hooks = resource.declaration.hooks;
  const guard = guardOf(context, resource, operation);
  await guard?.lock(context.database);
  const allowed = operation.system ? [] : await policyConditionsForWrite(resource, 'delete', operation);
  let conditions: WriteCondition[] | undefined = allowed;
  if (!isId(id) || conditions === undefined || hooks?.beforeDelete !== undefined) {
    const record = await loadAuthorizedForWrite(entity, id, 'delete', operation);
    const hookReturn: unknown = await runProjectCode(resource.name, 'hooks.beforeDelete', () =>
      hooks?.beforeDelete?.(record as never, createHookContext(context, operation)),
    );
    resolveHookResult(hookReturn, record);
    const unchangedSince = allowed === undefined ? unchangedCondition(entity, record) : [];
    conditions = [...(await conditionsAfterLoad(entity, allowed, operation)), ...unchangedSince];
  }
  const guarded = [...conditions, ...ifMatchConditions(resource, operation.ifMatch)];
  const deletion = { resource: resource.name, ids: [id], deletedWith: operation.deletedWith };
  let affected: AffectedRecords | undefined;
  if (context.referrers.has(resource.name) && isId(id)) {
    if (!(await store.lock(id, guarded))) {
      await loadAuthorizedForWrite(entity, id, 'delete', operation);
      return undefined;
    }
    affected = await prepareDeletion(context, deletion, operation);
  }
  const removed = await store
    .remove(id, guarded, changeCauseOf(context, operation), listPrivilegesThatAllowedDeletion(resource, operation))
    .catch((error: unknown) => {
      throw toDeletionError(error);
    });
  if (removed === undefined) await loadAuthorizedForWrite(entity, id, 'delete', operation);
  else {
    if (guard !== undefined) await checkWritten(context, guard, { before: removed }, operation);
    await completeDeletion(context, deletion, affected, operation);
  }
  return removed;
}

/**
 * Releases the references to deleted records, and runs the deletion step of their resource. If this fails, the transaction is rolled back,
 * even if the caller catches the error.
 */
async function completeDeletion(
  context: RecordsContext,
  deletion: Deletion,
  affected: AffectedRecords | undefined,
  operation: OperationContext,
): Promise<void> {
  const step = context.deletionSteps.get(deletion.resource);
  if (step === undefined && affected === undefined) return;
  const transaction = context.transaction!;
  try {
    if (affected !== undefined) {
      await releaseReferences(context, deletion, affected, operation);
      await checkForeignKeys(context, deletion, affected);
    }
    await step?.(deletion.ids, operation, transaction);
  } catch (error) {
    await transaction.abort(error);
    throw error;
  }
}

/** Runs the steps after a record was deleted: events, listeners and the hook. */
export function runAfterDelete(
  context: RecordsContext,
  { resource }: Entity,
  record: StoredRecord,
  operation: OperationContext,
): Promise<void> {
  return runAfterCommitSteps(context, resource, { action: 'deleted', record }, operation, (ctx) =>
    resource.declaration.hooks?.afterDelete?.(record as never, ctx),
  );
}

/**
 * Deletes a record. A policy that can be expressed in SQL is part of the delete statement and needs no separate query. If the resource has
 * a deletion step, or if other records refer to its records with `onDelete`, all changes run in one transaction.
 */
export async function deleteRecord(
  context: RecordsContext,
  entity: Entity,
  id: string,
  operation: OperationContext,
): Promise<StoredRecord> {
  const { resource } = entity;
  const always =
    context.deletionSteps.has(resource.name) ||
    context.referrers.has(resource.name) ||
    guardOf(context, resource, operation) !== undefined;
  const usesTransaction = always || resource.declaration.hooks?.beforeDelete !== undefined;
  const record = await retryOnConflict(entity, id, operation, (as) =>
    usesTransaction
      ? context.withTransaction(
          entity,
          as,
          (txContext, txEntity, txOperation) => attemptDelete(txContext, txEntity, id, txOperation),
          { always },
        )
      : attemptDelete(context, entity, id, as),
  );
  await runAfterDelete(context, entity, record, operation);
  return record;
}

async function loadDeletedRecord(
  entity: Entity,
  archive: Archive,
  id: string,
  operation: OperationContext,
): Promise<StoredRecord> {
  const { policies } = entity.resource;
  if (!operation.system)
    return loadAuthorizedRecord(archive.resource, archive.only, id, 'delete', policies.delete, operation);
  const record = isId(id) ? await archive.only.read(id) : undefined;
  if (record === undefined) throw new ApiError('NOT_FOUND');
  return record;
}

async function restoreOne(
  context: RecordsContext,
  { resource, store }: Entity,
  deleted: StoredRecord,
  conditions: readonly WriteCondition[],
  operation: OperationContext,
): Promise<StoredRecord | undefined> {
  // Check the conditions in the statement, too: meanwhile, the record may have been restored and deleted again under another privilege.
  const record = await store
    .restore(deleted.id, conditions, changeCauseOf(context, operation))
    .catch((error: unknown) => {
      throw toConflictError(resource, error);
    });
  if (record !== undefined)
    await runAfterCommitSteps(context, resource, { action: 'restored', record }, operation, () => undefined);
  return record;
}

/** Restores a record, and the records that the cascade of its deletion deleted, in the transaction of the context. */
async function restoreWithCascaded(
  context: RecordsContext,
  entity: Entity,
  deleted: StoredRecord,
  conditions: readonly WriteCondition[],
  operation: OperationContext,
): Promise<StoredRecord | undefined> {
  const cascaded = await prepareRestore(context, entity.resource, deleted, operation);
  if (cascaded.size === 0) return restoreOne(context, entity, deleted, conditions, operation);
  try {
    const record = await restoreOne(context, entity, deleted, conditions, operation);
    if (record === undefined) throw new ApiError('NOT_FOUND');
    await restoreCascaded(context, entity.resource, cascaded, operation);
    return record;
  } catch (error) {
    // In a transaction of the caller, a part of the records may be restored, and the foreign keys are deferred.
    await context.transaction!.abort(error);
    throw error;
  }
}

/**
 * Restores a deleted record, for viewers with the right to delete it and to undo this deletion. Its `updatedAt` changes, and references to records that
 * were deleted meanwhile are cleared if their fields have `onDelete: 'setNull'` or are lists. The deleted records that the cascade of the same deletion
 * deleted are restored with it.
 *
 * @throws ApiError UNAUTHORIZED, FORBIDDEN, or NOT_FOUND if the record is not among the deleted ones; PRECONDITION_FAILED; CONFLICT if one
 *   of its unique values is now taken; VALIDATION_ERROR if another reference must stay valid, and its record no longer exists
 */
export async function restoreRecord(
  context: RecordsContext,
  entity: Entity,
  id: string,
  operation: OperationContext,
): Promise<StoredRecord> {
  const { resource, archive } = entity;
  if (archive === undefined)
    throw new Error(`resource "${resource.name}" does not use softDelete, so its records cannot be restored`);
  const deleted = await loadDeletedRecord(entity, archive, id, operation);
  const conditions = operation.system ? [] : [await authorizeRestore(entity, deleted, operation)];
  assertIfMatch(entity.versionOf, deleted, operation.ifMatch);
  await guardOf(context, resource, operation)?.check({ after: deleted }, operation, undefined);
  const record = await (needsPreparedRestore(context, resource)
    ? context.withTransaction(
        entity,
        operation,
        (txContext, txEntity, txOperation) =>
          restoreWithCascaded(txContext, txEntity, deleted, conditions, txOperation),
        { always: true },
      )
    : restoreOne(context, entity, deleted, conditions, operation));
  if (record === undefined) throw new ApiError('NOT_FOUND');
  return record;
}
