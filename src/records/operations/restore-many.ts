import { findConstraintViolation } from '../../platform/data/postgres/errors.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import type { OperationContext } from '../access/operation-context.ts';
import type { Entity } from '../store/entity.ts';
import type { RecordsContext } from './context.ts';
import { restoreLocked, restoreRecord, restoresInTransaction } from './restore.ts';

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

/** Restores records in one transaction. */
function restoreTogether(
  context: RecordsContext,
  entity: Entity,
  ids: readonly string[],
  operation: OperationContext,
): Promise<Failures> {
  return context.withTransaction(
    entity,
    operation,
    async (inside, _entity, operationInside) => {
      const own = inside.entities.get(entity.resource.name)!;
      const limits = { rows: ids.length, bytes: Number.MAX_SAFE_INTEGER };
      const { records } = await own.archive!.only.lockMany([{ field: 'id', op: 'in', value: ids }], limits);
      const found = new Set(records.map(({ id }) => id));
      const failures: Failures = new Map(
        ids.filter((id) => !found.has(id)).map((id) => [id, new ApiError('NOT_FOUND')]),
      );
      await restoreLocked(inside, own, records, operationInside, ({ id }, error) => failures.set(id, error));
      return failures;
    },
    { always: true },
  );
}

/**
 * Restores deleted records with system privilege, with the rules of `restoreRecord` for each. One statement for all of them, unless the
 * restore of a record may change others, or a hook runs.
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
  if (restoresInTransaction(context, entity.resource)) return restoreSeparately(context, entity, ids, operation);
  try {
    return await restoreTogether(context, entity, ids, operation);
  } catch (error) {
    if (findConstraintViolation(error) === undefined) throw error;
    return restoreSeparately(context, entity, ids, operation);
  }
}
