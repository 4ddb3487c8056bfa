import { runAs } from '../../declare/actor.ts';
import type { StoredRecord } from '../../declare/host.ts';
import type { HookContext } from '../../declare/resource.ts';
import { ApiError, type ErrorDetails } from '../../platform/errors.ts';
import { violatedUnique } from '../../platform/postgres/errors.ts';
import { actorOf, identityOfOperation, type OperationContext } from '../access/operation-context.ts';
import type { RecordsContext } from '../context.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
import { uniqueFieldsOf } from '../schema/indexes.ts';
import type { Cause } from '../store/event.ts';

/** What hooks get. */
export function hookContext(context: RecordsContext, operation: OperationContext): HookContext {
  const { service, push } = context;
  return { user: operation.user, req: operation.req, as: operation.system ? 'system' : 'user', service, push };
}

/** Who is behind a write, for its outbox row. */
export function causeOf(operation: OperationContext): Cause {
  const { user, req, requestId, system } = operation;
  return { userId: user?.id, requestId, req, identity: identityOfOperation(operation), system };
}

/** What the error says of the fields whose values are taken together: of those that everybody sees, where there are several. */
function takenDetails(fields: readonly CompiledField[]): ErrorDetails {
  const alone = fields.length === 1;
  const told = fields.filter(({ spec, secret, visibleTo }) =>
    alone ? !spec.hidden : !secret && visibleTo === undefined,
  );
  const message = (name: string) => {
    const others = told.map((field) => field.name).filter((other) => other !== name);
    return others.length === 0 ? 'Is already taken' : `Is already taken together with ${others.join(', ')}`;
  };
  return Object.fromEntries(told.map(({ name }) => [name, message(name)]));
}

/** A duplicate as the 409 that a client gets; any other error as it is. The answer never says whose the value is. */
export function conflict(resource: CompiledResource, error: unknown): unknown {
  const index = violatedUnique(error);
  if (index === undefined) return error;
  const details = takenDetails(uniqueFieldsOf(resource, index));
  return new ApiError('CONFLICT', undefined, { ...(Object.keys(details).length > 0 && { details }), cause: error });
}

/** A change that is stored. */
interface Change {
  action: 'created' | 'updated' | 'deleted' | 'restored';
  record: StoredRecord;
  previous?: StoredRecord;
}

/** Tells the relay and this process's listeners of a change that is committed. */
function announce(
  context: RecordsContext,
  resource: CompiledResource,
  change: Change,
  operation: OperationContext,
): void {
  context.wake.hint();
  const name = `${resource.name}.${change.action}`;
  if (!context.events.has(name)) return;
  const { record, action, previous } = change;
  const { user, requestId } = operation;
  context.events.emit(name, { resource: resource.name, action, record, previous, user, requestId });
}

/**
 * What follows a change once it is committed: the relay and listeners hear of it, then the `after` hook runs. A hook that fails
 * is logged: the change stands, and its caller must not take it for failed.
 */
export function finishWrite(
  context: RecordsContext,
  resource: CompiledResource,
  change: Change,
  operation: OperationContext,
  hook: (ctx: HookContext) => unknown,
): Promise<void> {
  const finish = async (outside: RecordsContext) => {
    announce(outside, resource, change, operation);
    try {
      await hook(hookContext(outside, operation));
    } catch (error) {
      const { action, record } = change;
      outside.log.error({ err: error, resource: resource.name, record: record.id, action }, 'an after hook failed');
    }
  };
  // After the commit of a transaction another actor may be the current one.
  return context.afterCommit((outside) => runAs(actorOf(operation), () => finish(outside)));
}
