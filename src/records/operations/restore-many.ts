import { ApiError } from '../../platform/errors.ts';
import { findConstraintViolation } from '../../platform/postgres/errors.ts';
import type { OperationContext } from '../access/operation-context.ts';
import type { Entity, RecordsContext } from '../context.ts';
import { needsPreparedRestore } from '../references/restore.ts';
import { createRestoreOfManyStatement } from '../store/archived-rows.ts';
import { restoreRecord } from './delete.ts';
import { changeCauseOf, runAfterCommitSteps } from './write-steps.ts';

type Failures = Map<string, unknown>;

/** Restores records one by one: their restore depends on other records, or one of them cannot be restored. */
async function restoreSeparately(
  context: RecordsContext,
  entity: Entity,
  ids: readonly string[],
  operation: OperationContext,
): Promise<Failures> {
  const failures: Failures = new Map();
  for (const id of ids)
    await restoreRecord(context, entity, id, operation).catch((error: unknown) => failures.set(id, error));
  return failures;
}

/**
 * Restores deleted records with system privilege, with the rules of `restoreRecord` for each. One statement for all of them, unless the
 * restore of a record may change others.
 *
 * @param ids without duplicates
 * @returns the errors by id of the records that were not restored
 */
export async function restoreRecords(
  context: RecordsContext,
  entity: Entity,
  ids: readonly string[],
  operation: OperationContext,
): Promise<Failures> {
  const { resource, codec } = entity;
  if (needsPreparedRestore(context, resource)) return restoreSeparately(context, entity, ids, operation);
  const statement = createRestoreOfManyStatement(resource, codec, ids, changeCauseOf(context, operation));
  let rows: unknown[][];
  try {
    rows = await context.database.write(statement);
  } catch (error) {
    if (findConstraintViolation(error) === undefined) throw error;
    return restoreSeparately(context, entity, ids, operation);
  }
  const records = codec.fromChange(...rows);
  for (const record of records)
    await runAfterCommitSteps(context, resource, { action: 'restored', record }, operation, () => undefined);
  const restored = new Set(records.map(({ id }) => id));
  return new Map(ids.filter((id) => !restored.has(id)).map((id) => [id, new ApiError('NOT_FOUND')]));
}
