import type { StoredRecord } from '../../declare/host.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { authorizeLoadedRecord } from '../access/authorize.ts';
import type { OperationContext } from '../access/operation-context.ts';
import { scopeConditions } from '../access/scope.ts';
import type { Entity } from '../store/entity.ts';
import type { RecordsContext } from './context.ts';

/**
 * Locks a record that the caller may read until the end of the transaction of the context, and returns its current state.
 *
 * @throws Error outside of a transaction, where the lock would end at once; ApiError NOT_FOUND if the caller can read no such record
 */
export async function lockRecord(
  context: RecordsContext,
  entity: Entity,
  id: string,
  operation: OperationContext,
): Promise<StoredRecord> {
  const { resource } = entity;
  if (context.transaction === undefined)
    throw new Error(
      `service("${resource.name}").lock(…) needs a transaction, in which it holds the lock: call it on the service of a before hook, or on tx.service in app.transaction or ctx.transaction`,
    );
  const scope = operation.system ? [] : await scopeConditions(resource, operation);
  const record = isId(id) ? await entity.store.readLocked(id, scope) : undefined;
  if (!operation.system)
    return authorizeLoadedRecord(resource, entity.store, record, 'read', resource.policies.read, operation);
  if (record === undefined) throw new ApiError('NOT_FOUND');
  return record;
}
