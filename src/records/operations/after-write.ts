import type { StoredRecord } from '../../declare/host.ts';
import type { HookContext } from '../../declare/resource.ts';
import { ApiError } from '../../platform/errors.ts';
import { violatedUnique } from '../../platform/postgres/errors.ts';
import type { Acting } from '../acting.ts';
import type { CompiledResource } from '../compiled.ts';
import type { RecordsContext } from '../context.ts';
import { uniqueFieldOf } from '../indexes.ts';
import type { Cause } from '../store/event.ts';

/** What hooks get. */
export function hookContext(context: RecordsContext, acting: Acting): HookContext {
  return { user: acting.user, req: acting.req, service: context.service };
}

/** Who is behind a write, for its outbox row. */
export function causeOf(acting: Acting): Cause {
  return { userId: acting.user?.id, requestId: acting.requestId };
}

/** A duplicate as the 409 that a client gets; any other error as it is. The answer never says whose the value is. */
export function conflict(resource: CompiledResource, error: unknown): unknown {
  const index = violatedUnique(error);
  if (index === undefined) return error;
  const field = uniqueFieldOf(resource, index);
  const details = field === undefined || field.spec.hidden ? undefined : { [field.name]: 'Is already taken' };
  return new ApiError('CONFLICT', undefined, details === undefined ? { cause: error } : { details, cause: error });
}

/** A change that is stored. */
interface Change {
  action: 'created' | 'updated' | 'deleted';
  record: StoredRecord;
  previous?: StoredRecord;
}

/** Tells the relay and this process's listeners of a change that is committed. */
function announce(context: RecordsContext, resource: CompiledResource, change: Change, acting: Acting): void {
  context.wake.hint();
  const name = `${resource.name}.${change.action}`;
  if (!context.events.has(name)) return;
  const { record, action, previous } = change;
  const { user, requestId } = acting;
  context.events.emit(name, { resource: resource.name, action, record, previous, user, requestId });
}

/**
 * What follows a change once it is committed: the relay and listeners are told, then the `after` hook runs. A hook that fails
 * is logged: the change stands, and its caller must not take it for failed.
 */
export function follow(
  context: RecordsContext,
  resource: CompiledResource,
  change: Change,
  acting: Acting,
  hook: (ctx: HookContext) => unknown,
): Promise<void> {
  return context.afterCommit(async (outside) => {
    announce(outside, resource, change, acting);
    try {
      await hook(hookContext(outside, acting));
    } catch (error) {
      const { action, record } = change;
      outside.log.error({ err: error, resource: resource.name, record: record.id, action }, 'an after hook failed');
    }
  });
}
