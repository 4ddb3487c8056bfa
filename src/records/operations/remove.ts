import type { StoredRecord } from '../../declare/host.ts';
import { isId } from '../../platform/ids.ts';
import { writeConditions } from '../access/access.ts';
import { privilegesOf } from '../access/deleted-under.ts';
import type { OperationContext } from '../access/operation-context.ts';
import { inRule } from '../access/rule-errors.ts';
import type { Entity, RecordsContext } from '../context.ts';
import type { WriteCondition } from '../store/store.ts';
import { causeOf, finishWrite, hookContext } from './after-write.ts';
import { hookResult } from './hook-answer.ts';
import { matchConditions } from './if-match.ts';
import { retryOnConflict } from './retry-on-conflict.ts';
import { loadForWrite, stillInReach, unchanged } from './update.ts';

/** One attempt to remove a record. Undefined when somebody changed it between the question whether it may be and the write. */
async function attemptDelete(
  context: RecordsContext,
  entity: Entity,
  id: string,
  operation: OperationContext,
): Promise<StoredRecord | undefined> {
  const { resource, store } = entity;
  const hooks = resource.declaration.hooks;
  const allowed = operation.system ? [] : await writeConditions(resource, 'delete', operation);
  let conditions: WriteCondition[] | undefined = allowed;
  if (!isId(id) || conditions === undefined || hooks?.beforeDelete !== undefined) {
    const record = await loadForWrite(entity, id, 'delete', operation);
    const answer: unknown = await inRule(resource.name, 'hooks.beforeDelete', () =>
      hooks?.beforeDelete?.(record as never, hookContext(context, operation)),
    );
    hookResult(answer, record);
    const asked = allowed === undefined ? unchanged(entity, record) : [];
    conditions = [...(await stillInReach(entity, allowed, operation)), ...asked];
  }
  const guarded = [...conditions, ...matchConditions(resource, operation.ifMatch)];
  const removed = await store.remove(id, guarded, causeOf(operation), privilegesOf(resource, operation));
  if (removed === undefined) await loadForWrite(entity, id, 'delete', operation);
  else await runDeletionStep(context, resource.name, id, operation);
  return removed;
}

/** If the step fails, the transaction is rolled back, even if the caller catches the error. */
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

/**
 * Removes a record. As with `update`, a policy that fits into the statement costs no look-up of its own. A resource with a deletion
 * step is removed in a transaction, so that the step is committed with it or not at all.
 */
export async function deleteRecord(
  context: RecordsContext,
  entity: Entity,
  id: string,
  operation: OperationContext,
): Promise<StoredRecord> {
  const { resource } = entity;
  const always = context.deletionSteps.has(resource.name);
  const joins = always || resource.declaration.hooks?.beforeDelete !== undefined;
  const record = await retryOnConflict(entity, id, operation, (as) =>
    joins
      ? context.withTransaction(entity, as, (own, joined, who) => attemptDelete(own, joined, id, who), { always })
      : attemptDelete(context, entity, id, as),
  );
  await finishWrite(context, resource, { action: 'deleted', record }, operation, (ctx) =>
    resource.declaration.hooks?.afterDelete?.(record as never, ctx),
  );
  return record;
}
