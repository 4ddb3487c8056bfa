import { ApiError } from '../../platform/errors.ts';
import { writeConditions } from '../access.ts';
import type { Acting } from '../acting.ts';
import type { CompiledResource } from '../compiled.ts';
import { restorableConditions } from '../deleted-under.ts';
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
  acting: Acting,
): Promise<ListCondition[]> {
  if (deleted === undefined || acting.system) return [];
  const allowed = await writeConditions(resource, 'delete', acting);
  if (allowed === undefined) throw new ApiError('FORBIDDEN');
  const restorable = [...allowed, restorableConditions(resource.policies.delete, acting.user)];
  if (deleted === 'only') return restorable;
  return [{ any: [{ field: 'deletedAt', op: 'exists', value: false }, { every: restorable }] }];
}
