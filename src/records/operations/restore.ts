import type { StoredRecord } from '../../declare/host.ts';
import { ApiError } from '../../platform/errors.ts';
import { isId } from '../../platform/ids.ts';
import { loadAuthorized } from '../access/access.ts';
import { assertRestorable } from '../access/deleted-under.ts';
import type { OperationContext } from '../access/operation-context.ts';
import type { Entity, RecordsContext } from '../context.ts';
import type { Archive } from '../store/archive.ts';
import { causeOf, conflict, finishWrite } from './after-write.ts';
import { assertMatch } from './if-match.ts';

async function loadDeleted(
  entity: Entity,
  archive: Archive,
  id: string,
  operation: OperationContext,
): Promise<StoredRecord> {
  const { policies } = entity.resource;
  if (!operation.system)
    return loadAuthorized(archive.resource, archive.only, id, 'delete', policies.delete, operation);
  const record = isId(id) ? await archive.only.read(id) : undefined;
  if (record === undefined) throw new ApiError('NOT_FOUND');
  return record;
}

/**
 * Restores a deleted record, for viewers who may delete it and undo this deletion. The record is as it was, with a new `updatedAt`.
 *
 * @throws ApiError UNAUTHORIZED, FORBIDDEN, or NOT_FOUND when it is not among the deleted records; PRECONDITION_FAILED; CONFLICT when a unique value of it
 *   is taken by now
 */
export async function restoreRecord(
  context: RecordsContext,
  entity: Entity,
  id: string,
  operation: OperationContext,
): Promise<StoredRecord> {
  const { resource, store, archive } = entity;
  if (archive === undefined) throw new Error(`resource "${resource.name}" has no softDelete: nothing can be restored`);
  const deleted = await loadDeleted(entity, archive, id, operation);
  const conditions = operation.system ? [] : [await assertRestorable(resource, deleted, operation)];
  assertMatch(entity.versionOf, deleted, operation.ifMatch);
  // A record in the archive does not change, but it may have been restored, and deleted anew under another privilege.
  const record = await store.restore(id, conditions, causeOf(operation)).catch((error: unknown) => {
    throw conflict(resource, error);
  });
  if (record === undefined) throw new ApiError('NOT_FOUND');
  await finishWrite(context, resource, { action: 'restored', record }, operation, () => undefined);
  return record;
}
