import type { StoredRecord } from '../../declare/host.ts';
import { ApiError } from '../../platform/errors.ts';
import { isId } from '../../platform/ids.ts';
import { loadAuthorizedRecord, policyConditionsForWrite } from '../access/authorize.ts';
import { authorizeRestore, listPrivilegesThatAllowedDeletion } from '../access/deleted-under.ts';
import type { OperationContext } from '../access/operation-context.ts';
import { runProjectCode } from '../access/rule-errors.ts';
import type { Entity, RecordsContext } from '../context.ts';
import type { Archive } from '../store/archive.ts';
import type { WriteCondition } from '../store/store.ts';
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
  const removed = await store.remove(
    id,
    guarded,
    changeCauseOf(context, operation),
    listPrivilegesThatAllowedDeletion(resource, operation),
  );
  if (removed === undefined) await loadAuthorizedForWrite(entity, id, 'delete', operation);
  else await runDeletionStep(context, resource.name, id, operation);
  return removed;
}

/**
 * Runs the deletion step of the resource, if there is one. If the step fails, the transaction is rolled back, even if the caller catches
 * the error.
 */
async function runDeletionStep(
  context: RecordsContext,
  name: string,
  id: string,
  operation: OperationContext,
): Promise<void> {
  const step = context.deletionSteps.get(name);
  if (step === undefined) return;
  const transaction = context.transaction!;
  try {
    await step([id], operation, transaction);
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
 * a deletion step, both run in one transaction, so that they are committed together or not at all.
 */
export async function deleteRecord(
  context: RecordsContext,
  entity: Entity,
  id: string,
  operation: OperationContext,
): Promise<StoredRecord> {
  const { resource } = entity;
  const always = context.deletionSteps.has(resource.name);
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

/**
 * Restores a deleted record, for viewers who may delete it and undo this deletion. Only its `updatedAt` changes.
 *
 * @throws ApiError UNAUTHORIZED, FORBIDDEN, or NOT_FOUND if the record is not among the deleted ones; PRECONDITION_FAILED; CONFLICT if one
 *   of its unique values is now taken
 */
export async function restoreRecord(
  context: RecordsContext,
  entity: Entity,
  id: string,
  operation: OperationContext,
): Promise<StoredRecord> {
  const { resource, store, archive } = entity;
  if (archive === undefined)
    throw new Error(`resource "${resource.name}" does not use softDelete, so its records cannot be restored`);
  const deleted = await loadDeletedRecord(entity, archive, id, operation);
  const conditions = operation.system ? [] : [await authorizeRestore(resource, deleted, operation)];
  assertIfMatch(entity.versionOf, deleted, operation.ifMatch);
  // Check the conditions in the statement, too: meanwhile, the record may have been restored and deleted again under another privilege.
  const record = await store.restore(id, conditions, changeCauseOf(context, operation)).catch((error: unknown) => {
    throw toConflictError(resource, error);
  });
  if (record === undefined) throw new ApiError('NOT_FOUND');
  await runAfterCommitSteps(context, resource, { action: 'restored', record }, operation, () => undefined);
  return record;
}
