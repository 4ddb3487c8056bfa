import type { StoredRecord } from '../../declare/host.ts';
import { findConstraintViolation } from '../../platform/data/postgres/errors.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { loadAuthorizedRecord } from '../access/authorize.ts';
import { authorizeRestore } from '../access/deleted-under.ts';
import type { OperationContext } from '../access/operation-context.ts';
import { setConstraints } from '../references/cascade.ts';
import {
  type CascadedRecords,
  createRestoreConflict,
  needsPreparedRestore,
  prepareRestore,
} from '../references/restore.ts';
import type { CompiledResource, Values } from '../schema/compiled.ts';
import { createRestoreOfManyStatement } from '../store/archived-rows.ts';
import type { Entity } from '../store/entity.ts';
import type { WriteCondition } from '../store/store.ts';
import { assertIfMatch } from '../store/versions.ts';
import { toConflictError } from '../writes/conflict-errors.ts';
import { attachFiles } from '../writes/files.ts';
import { findGuard } from '../writes/guard.ts';
import { createChangeCause, retryOnConflict, runAfterCommitSteps, unchangedCondition } from '../writes/write-steps.ts';
import type { RecordsContext } from './context.ts';
import { hasRestoreHook, prepareRestoredValues } from './restored-values.ts';

async function loadDeletedRecord({ resource, archive }: Entity, id: string, operation: OperationContext) {
  if (!operation.system)
    return loadAuthorizedRecord(archive!.resource, archive!.only, id, 'delete', resource.policies.delete, operation);
  const record = isId(id) ? await archive!.only.read(id) : undefined;
  if (record === undefined) throw new ApiError('NOT_FOUND');
  return record;
}

/** Runs the steps after a record was restored: the event, listeners and the hook: `afterRestore`, or else `afterCreate`. */
function runAfterRestore(
  context: RecordsContext,
  { resource }: Entity,
  record: StoredRecord,
  operation: OperationContext,
): Promise<void> {
  const { afterRestore, afterCreate } = resource.declaration.hooks ?? {};
  return runAfterCommitSteps(context, resource, { action: 'restored', record }, operation, (ctx) =>
    (afterRestore ?? afterCreate)?.(record as never, ctx),
  );
}

/** Restores a record with the prepared values. Returns undefined if no deleted record meets the conditions. */
async function restoreOne(
  context: RecordsContext,
  entity: Entity,
  { id, changes, conditions }: { id: string; changes: Values; conditions: readonly WriteCondition[] },
  operation: OperationContext,
): Promise<StoredRecord | undefined> {
  const { resource, store } = entity;
  const cause = createChangeCause(context, operation);
  const record = await store.restore(id, changes, conditions, cause).catch((error: unknown) => {
    throw toConflictError(resource, error);
  });
  if (record === undefined) return undefined;
  if (resource.holdsFiles && context.transaction !== undefined) await attachFiles(context, resource, id, changes);
  await runAfterRestore(context, entity, record, operation);
  return record;
}

/**
 * Restores locked deleted records, with the rules of a create for each. If no hook runs, all of them take one statement.
 *
 * @param onInvalid receives the error of a record that does not meet the rules, and that is then left out
 */
export async function restoreLocked(
  context: RecordsContext,
  entity: Entity,
  records: readonly StoredRecord[],
  operation: OperationContext,
  onInvalid: (record: StoredRecord, error: unknown) => void,
): Promise<void> {
  const { resource, codec } = entity;
  const together: string[] = [];
  for (const record of records) {
    const { id } = record;
    await findGuard(context, resource, operation)?.check({ after: record }, operation, undefined);
    let changes: Values;
    try {
      changes = await prepareRestoredValues(context, entity, record, operation);
    } catch (error) {
      onInvalid(record, error);
      continue;
    }
    // A hook must see the records that were restored before.
    if (!hasRestoreHook(resource) && Object.keys(changes).length === 0) together.push(id);
    else await restoreOne(context, entity, { id, changes, conditions: [] }, operation);
  }
  if (together.length === 0) return;
  const statement = createRestoreOfManyStatement(resource, codec, together, createChangeCause(context, operation));
  for (const record of codec.fromChange(...(await context.database.write(statement))))
    await runAfterRestore(context, entity, record, operation);
}

/**
 * Restores the records that `prepareRestore` found, with an event for each, and checks the foreign keys. The rules of a create apply; policies do not, as
 * in the cascade.
 *
 * @throws ApiError CONFLICT if a unique value is taken, or if a record does not meet the rules; errors of hooks
 */
async function restoreCascaded(
  context: RecordsContext,
  root: Entity,
  cascaded: CascadedRecords,
  operation: OperationContext,
): Promise<void> {
  try {
    for (const [name, ids] of cascaded) {
      const entity = context.entities.get(name)!;
      const records = await entity.archive!.only.readMany(ids);
      await restoreLocked(context, entity, records, operation, (_record, error) => {
        const isInvalid = error instanceof ApiError && error.code === 'VALIDATION_ERROR';
        throw isInvalid ? createRestoreConflict(error) : error;
      });
    }
    await setConstraints(context, root.resource.name, 'immediate');
  } catch (error) {
    throw findConstraintViolation(error) === undefined ? error : createRestoreConflict(error);
  }
}

/** Whether the restore of a record needs a transaction. */
export function restoresInTransaction(context: RecordsContext, resource: CompiledResource): boolean {
  return needsPreparedRestore(context, resource) || hasRestoreHook(resource);
}

/** Restores a record, and the records that the cascade of its deletion deleted, in the transaction of the context. */
async function restoreInTransaction(
  context: RecordsContext,
  entity: Entity,
  deleted: StoredRecord,
  conditions: readonly WriteCondition[],
  operation: OperationContext,
): Promise<StoredRecord | undefined> {
  const { resource } = entity;
  const { only } = entity.archive!;
  const { id } = deleted;
  if (!(await only.lock(id, conditions))) return undefined;
  const isPrepared = needsPreparedRestore(context, resource);
  const cascaded: CascadedRecords = isPrepared
    ? await prepareRestore(context, resource, deleted, operation)
    : new Map();
  try {
    // The preparation may have cleared references.
    const current = isPrepared ? (await only.read(id))! : deleted;
    const changes = await prepareRestoredValues(context, entity, current, operation);
    const record = await restoreOne(context, entity, { id, changes, conditions: [] }, operation);
    if (cascaded.size > 0) await restoreCascaded(context, entity, cascaded, operation);
    return record;
  } catch (error) {
    // In a transaction of the caller, a part of the records may be restored, and the foreign keys are deferred.
    if (cascaded.size > 0) await context.transaction!.abort(error);
    throw error;
  }
}

/** One attempt to restore a record. Returns undefined if the deleted record changed in the meantime. */
async function attemptRestore(
  context: RecordsContext,
  entity: Entity,
  id: string,
  operation: OperationContext,
): Promise<StoredRecord | undefined> {
  const deleted = await loadDeletedRecord(entity, id, operation);
  const allowed = operation.system ? [] : [await authorizeRestore(entity, deleted, operation)];
  assertIfMatch(entity.versionOf, deleted, operation.ifMatch);
  await findGuard(context, entity.resource, operation)?.check({ after: deleted }, operation, undefined);
  const conditions = [...allowed, ...unchangedCondition(entity, deleted)];
  if (restoresInTransaction(context, entity.resource))
    return restoreInTransaction(context, entity, deleted, conditions, operation);
  const changes = await prepareRestoredValues(context, entity, deleted, operation);
  return restoreOne(context, entity, { id, changes, conditions }, operation);
}

/**
 * Restores a deleted record, for viewers with the right to delete it and to undo this deletion. The deleted records that the cascade of the
 * same deletion deleted are restored with it.
 *
 * The rules of a create apply: the record's values must be valid, and `beforeRestore` or else `beforeCreate` runs. Its `updatedAt` changes.
 * References to records that have been deleted since are cleared, if their fields have `onDelete: 'setNull'` or are lists.
 *
 * @throws ApiError UNAUTHORIZED, FORBIDDEN, or NOT_FOUND if the record is not among the deleted ones; PRECONDITION_FAILED; CONFLICT if one
 *   of its unique values is now taken; VALIDATION_ERROR if a value is not valid, or if another reference must stay valid and its record no
 *   longer exists
 */
export async function restoreRecord(
  context: RecordsContext,
  entity: Entity,
  id: string,
  operation: OperationContext,
): Promise<StoredRecord> {
  const { resource } = entity;
  if (entity.archive === undefined)
    throw new Error(`resource "${resource.name}" does not use softDelete, so its records cannot be restored`);
  return retryOnConflict(entity, id, operation, (as) =>
    restoresInTransaction(context, resource)
      ? context.withTransaction(
          entity,
          as,
          (inside, _entity, insideAs) => attemptRestore(inside, inside.entities.get(resource.name)!, id, insideAs),
          { always: true },
        )
      : attemptRestore(context, entity, id, as),
  );
}
