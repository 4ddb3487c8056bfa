import type { StoredRecord } from '../../declare/host.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { policyConditionsForWrite } from '../access/authorize.ts';
import { listPrivilegesThatAllowedDeletion } from '../access/deleted-under.ts';
import type { OperationContext } from '../access/operation-context.ts';
import type { AffectedRecords, Deletion } from '../references/affected-records.ts';
import { checkForeignKeys, prepareDeletion, releaseReferences, toDeletionError } from '../references/cascade.ts';
import type { Entity } from '../store/entity.ts';
import type { WriteCondition } from '../store/store.ts';
import { ifMatchConditions } from '../store/versions.ts';
import { checkWritten, findGuard } from '../writes/guard.ts';
import { createHookContext, runBeforeHook } from '../writes/hooks.ts';
import { abortOnError } from '../writes/transaction.ts';
import {
  conditionsAfterLoad,
  createChangeCause,
  loadAuthorizedForWrite,
  retryOnConflict,
  runAfterCommitSteps,
  unchangedCondition,
} from '../writes/write-steps.ts';
import type { RecordsContext } from './context.ts';

/** One attempt to delete a record. Returns undefined if the record changed between the policy check and the write. */
async function attemptDelete(
  context: RecordsContext,
  entity: Entity,
  id: string,
  operation: OperationContext,
): Promise<StoredRecord | undefined> {
  const { resource, store } = entity;
  const hooks = resource.declaration.hooks;
  const guard = findGuard(context, resource, operation);
  await guard?.lock(context.database);
  const allowed = operation.system ? [] : await policyConditionsForWrite(resource, 'delete', operation);
  let conditions: WriteCondition[] | undefined = allowed;
  if (!isId(id) || conditions === undefined || hooks?.beforeDelete !== undefined) {
    const record = await loadAuthorizedForWrite(entity, id, 'delete', operation);
    await runBeforeHook(resource.name, 'beforeDelete', record, () =>
      hooks?.beforeDelete?.(record as never, createHookContext(context, operation)),
    );
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
    .remove(id, guarded, createChangeCause(context, operation), listPrivilegesThatAllowedDeletion(resource, operation))
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
  await abortOnError(transaction, async () => {
    if (affected !== undefined) {
      await releaseReferences(context, deletion, affected, operation);
      await checkForeignKeys(context, deletion, affected);
    }
    await step?.(deletion.ids, operation, transaction);
  });
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
    findGuard(context, resource, operation) !== undefined;
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
