import { ApiError } from '../../platform/errors.ts';
import { writeConditions } from '../access.ts';
import type { Acting } from '../acting.ts';
import type { CompiledResource } from '../compiled.ts';
import type { Condition } from './condition.ts';
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
): Promise<Condition[]> {
  if (deleted === undefined || acting.system) return [];
  const restorable = await writeConditions(resource, 'delete', acting);
  if (restorable === undefined) throw new ApiError('FORBIDDEN');
  if (deleted === 'only') return restorable;
  return [{ any: [{ field: 'deletedAt', op: 'exists', value: false }, { every: restorable }] }];
}
