import type { StoredRecord } from '../../declare/host.ts';
import { ApiError } from '../../platform/errors.ts';
import { isId } from '../../platform/ids.ts';
import { loadAuthorized } from '../access/access.ts';
import type { OperationContext } from '../access/operation-context.ts';
import type { Entity } from '../context.ts';

/** Reads a record that the caller may read. */
export async function readRecord(
  { resource, store }: Entity,
  id: string,
  operation: OperationContext,
): Promise<StoredRecord> {
  if (operation.system) {
    const record = isId(id) ? await store.read(id) : undefined;
    if (record === undefined) throw new ApiError('NOT_FOUND');
    return record;
  }
  return loadAuthorized(resource, store, id, 'read', resource.policies.read, operation);
}
