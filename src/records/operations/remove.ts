import type { StoredRecord } from '../../declare/host.ts';
import { ApiError } from '../../platform/errors.ts';
import { isId } from '../../platform/ids.ts';
import { writeConditions } from '../access.ts';
import type { Acting } from '../acting.ts';
import type { Entity, RecordsContext } from '../context.ts';
import { matchConditions } from '../if-match.ts';
import type { WriteCondition } from '../store/store.ts';
import { causeOf, follow, hookContext } from './after-write.ts';
import { loadForWrite, MOST_ATTEMPTS, stillInReach, unchanged } from './update.ts';

/** Removes a record. As with `update`, a policy that fits into the statement costs no look-up of its own. */
export async function remove(
  context: RecordsContext,
  entity: Entity,
  id: string,
  acting: Acting,
  attempt = 1,
): Promise<StoredRecord> {
  const { resource, store } = entity;
  const hooks = resource.declaration.hooks;
  const allowed = acting.system ? [] : await writeConditions(resource, 'delete', acting);
  let conditions: WriteCondition[] | undefined = allowed;
  if (!isId(id) || conditions === undefined || hooks?.beforeDelete !== undefined) {
    const record = await loadForWrite(entity, id, 'delete', acting);
    await hooks?.beforeDelete?.(record as never, hookContext(context, acting));
    const asked = allowed === undefined ? unchanged(entity, record) : [];
    conditions = [...(await stillInReach(entity, allowed, acting)), ...asked];
  }
  const guarded = [...conditions, ...matchConditions(resource, acting.ifMatch)];
  const removed = await store.remove(id, guarded, causeOf(acting));
  if (removed === undefined) {
    await loadForWrite(entity, id, 'delete', acting);
    if (attempt < MOST_ATTEMPTS) return remove(context, entity, id, acting, attempt + 1);
    throw new ApiError('CONFLICT', 'The record is being changed by others; try again');
  }
  const change = { action: 'deleted', record: removed } as const;
  await follow(context, resource, change, acting, (ctx) => hooks?.afterDelete?.(removed as never, ctx));
  return removed;
}
