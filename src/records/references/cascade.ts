import type { StoredRecord } from '../../declare/host.ts';
import type { CallerTransaction } from '../../declare/service.ts';
import { findViolatedForeignKey, toPublicViolation } from '../../platform/data/postgres/errors.ts';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import type { OperationContext } from '../access/operation-context.ts';
import type { CompiledField } from '../schema/compiled.ts';
import { foreignKeysBelow } from '../schema/references.ts';
import type { Entity } from '../store/entity.ts';
import { createDeletionOfManyStatement, createReferenceClearingStatement } from '../store/referring-rows.ts';
import { checkWritten, findGuard, type GuardContext } from '../writes/guard.ts';
import { createChangeCause, runAfterCommitSteps, type WriteContext } from '../writes/write-steps.ts';
import {
  type AffectedRecords,
  affectsOthers,
  type Deletion,
  findAffectedRecords,
  MAX_AFFECTED,
  type ReferrerContext,
} from './affected-records.ts';
import { createForeignKeyConflict, createRestrictedError } from './restricted.ts';

/**
 * An additional step of deletions, in the same transaction, after the records are deleted.
 *
 * @param ids the ids of the deleted records
 * @param operation the context of the deletion
 */
type DeletionStep = (
  ids: readonly string[],
  operation: Pick<OperationContext, 'req'>,
  tx: CallerTransaction,
) => Promise<void>;

/** What deletions need to delete or clear the records that refer to the deleted ones. */
export interface DeletionContext extends ReferrerContext, WriteContext, GuardContext {
  /**
   * Deletion steps by resource name. A record of a resource without a step is deleted by a single statement, outside of any transaction.
   */
  deletionSteps: Map<string, DeletionStep>;
}

/**
 * Finds the records that a deletion deletes or changes with `onDelete`, and locks them. Changes nothing: a caller may catch the error and
 * continue its transaction.
 *
 * @param context in a transaction that has locked the records to delete: no new record can refer to them
 * @throws ApiError CONFLICT if a reference restricts the deletion, or if it affects too many records
 */
export async function prepareDeletion(
  context: ReferrerContext,
  deletion: Deletion,
  operation: OperationContext,
): Promise<AffectedRecords> {
  const affected = await findAffectedRecords(context, deletion);
  if (affected.isTooMany) {
    throw new ApiError(
      'CONFLICT',
      `More than ${MAX_AFFECTED.toLocaleString('en')} records refer to this record, directly or through others; delete or change those first`,
    );
  }
  if (affected.restricting.length > 0) throw await createRestrictedError(context, affected.restricting, operation);
  // Records may refer to each other, so no order of the statements keeps all foreign keys valid at every step.
  if (affectsOthers(affected) || deletion.deletedWith !== undefined)
    await setConstraints(context, deletion.resource, 'deferred');
  return affected;
}

/**
 * Sets when foreign keys are checked. A change of a resource's records, and of the records that refer to them, may violate these keys for a
 * moment.
 *
 * @param context in a transaction
 */
export async function setConstraints(
  context: ReferrerContext,
  resource: string,
  mode: 'deferred' | 'immediate',
): Promise<void> {
  const names = foreignKeysBelow(resource, context.referrers, (name) => context.entities.get(name)!.resource);
  if (names.length === 0) return;
  await context.database.write({
    text: `set constraints ${names.map(quoteIdentifier).join(', ')} ${mode}`,
    values: [],
  });
}

/**
 * Deletes or clears the records that refer to deleted ones, with a few statements per resource, whatever the number of records. Their `after`
 * hooks and events follow the commit; their `before` hooks do not run, because nobody requested these changes.
 *
 * @param affected the result of `prepareDeletion` in the same transaction
 */
export async function releaseReferences(
  context: DeletionContext,
  deletion: Deletion,
  affected: AffectedRecords,
  operation: OperationContext,
): Promise<void> {
  for (const [name, ids] of affected.deleted) await deleteMany(context, context.entities.get(name)!, ids, operation);
  const allDeleted = new Map(affected.deleted);
  allDeleted.set(deletion.resource, [...(allDeleted.get(deletion.resource) ?? []), ...deletion.ids]);
  for (const [name, { ids, fields }] of affected.cleared) {
    const cleared = [...fields].map((field) => ({ field, deleted: allDeleted.get(field.target!) ?? [] }));
    await clearMany(context, context.entities.get(name)!, ids, cleared, operation);
  }
}

/**
 * Checks the foreign keys that `prepareDeletion` deferred, now that all records are deleted. If the caller deletes other records in the same
 * transaction, the commit checks them.
 *
 * @throws ApiError CONFLICT
 */
export async function checkForeignKeys(
  context: ReferrerContext,
  { resource, deletedWith }: Deletion,
  affected: AffectedRecords,
): Promise<void> {
  if (!affectsOthers(affected) || deletedWith !== undefined) return;
  await setConstraints(context, resource, 'immediate').catch((error: unknown) => {
    throw toDeletionError(error);
  });
}

/** Converts the violation of a foreign key by a deletion to a 409, and of another constraint to its error; returns any other error unchanged. */
export function toDeletionError(error: unknown): unknown {
  if (findViolatedForeignKey(error) !== undefined) return createForeignKeyConflict(error);
  return toPublicViolation(error) ?? error;
}

async function deleteMany(
  context: DeletionContext,
  { resource, codec }: Entity,
  ids: readonly string[],
  operation: OperationContext,
): Promise<void> {
  const statement = createDeletionOfManyStatement(resource, codec, ids, createChangeCause(context, operation));
  const rows = await context.database.write(statement);
  const { hooks } = resource.declaration;
  const guard = findGuard(context, resource, operation);
  await guard?.lock(context.database);
  for (const record of codec.fromChange(...rows)) {
    if (guard !== undefined) await checkWritten(context, guard, { before: record }, operation);
    await runAfterCommitSteps(context, resource, { action: 'deleted', record }, operation, (ctx) =>
      hooks?.afterDelete?.(record as never, ctx),
    );
  }
  await context.deletionSteps.get(resource.name)?.(ids, operation, context.transaction!);
}

async function clearMany(
  context: DeletionContext,
  { resource, codec }: Entity,
  ids: readonly string[],
  cleared: readonly { field: CompiledField; deleted: readonly string[] }[],
  operation: OperationContext,
): Promise<void> {
  const cause = createChangeCause(context, operation);
  const rows = await context.database.write(createReferenceClearingStatement(resource, codec, ids, cleared, cause));
  const { hooks } = resource.declaration;
  const width = codec.columns.split(', ').length;
  const states = codec.fromChange(...rows.flatMap((row) => [row, row.slice(width)]));
  for (let i = 0; i < states.length; i += 2) {
    const [record, previous] = [states[i], states[i + 1]] as [StoredRecord, StoredRecord];
    await runAfterCommitSteps(context, resource, { action: 'updated', record, previous }, operation, (ctx) =>
      hooks?.afterUpdate?.(record as never, previous as never, ctx),
    );
  }
}
