import type { StoredRecord } from '../../declare/host.ts';
import type { HookContext } from '../../declare/resource.ts';
import { ApiError } from '../../platform/errors.ts';
import { violatedUnique } from '../../platform/postgres/errors.ts';
import type { Acting } from '../acting.ts';
import type { CompiledResource } from '../compiled.ts';
import type { RecordsContext } from '../context.ts';
import type { Cause } from '../store/event.ts';
import { uniqueIndexName } from '../table.ts';

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
  const field = resource.fields.find((one) => one.spec.unique && uniqueIndexName(resource, one.column) === index);
  const details = field === undefined || field.spec.hidden ? undefined : { [field.name]: 'Is already taken' };
  return new ApiError('CONFLICT', undefined, details === undefined ? { cause: error } : { details, cause: error });
}

/** Tells the relay and this process's listeners of a change that is committed. */
export function announce(
  context: RecordsContext,
  resource: CompiledResource,
  action: 'created' | 'updated' | 'deleted',
  record: StoredRecord,
  previous: StoredRecord | undefined,
  acting: Acting,
): void {
  context.wake.hint();
  const name = `${resource.name}.${action}`;
  if (!context.events.has(name)) return;
  context.events.emit(name, {
    resource: resource.name,
    action,
    record,
    previous,
    user: acting.user,
    requestId: acting.requestId,
  });
}
