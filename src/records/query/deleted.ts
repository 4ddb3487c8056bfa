import { ApiError } from '../../platform/errors.ts';
import { writeConditions } from '../access/access.ts';
import { restorableConditions } from '../access/deleted-under.ts';
import type { OperationContext } from '../access/operation-context.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import type { ListCondition } from './condition.ts';
import type { ListQuery } from './list-query.ts';

/**
 * What a list that shows deleted records is narrowed down to: those that the caller may restore.
 *
 * @throws ApiError UNAUTHORIZED, or FORBIDDEN for those who may restore none, or only what a function decides record by record
 */
export async function deletedConditions(
  resource: CompiledResource,
  deleted: ListQuery['deleted'],
  operation: OperationContext,
): Promise<ListCondition[]> {
  if (deleted === undefined || operation.system) return [];
  const allowed = await writeConditions(resource, 'delete', operation);
  if (allowed === undefined) throw new ApiError('FORBIDDEN');
  const restorable = [...allowed, restorableConditions(resource.policies.delete, operation.user)];
  if (deleted === 'only') return restorable;
  return [{ any: [{ field: 'deletedAt', op: 'exists', value: false }, { every: restorable }] }];
}
