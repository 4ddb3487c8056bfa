import { setTimeout as sleep } from 'node:timers/promises';
import { runAs } from '../../declare/actor.ts';
import type { StoredRecord } from '../../declare/host.ts';
import type { HookContext } from '../../declare/resource.ts';
import { ApiError, type ErrorDetails } from '../../platform/errors.ts';
import { isId } from '../../platform/ids.ts';
import { violatedUnique } from '../../platform/postgres/errors.ts';
import { loadAuthorized } from '../access/authorize.ts';
import { actorOf, identityOfOperation, type OperationContext } from '../access/operation-context.ts';
import type { Entity, RecordsContext } from '../context.ts';
import type { Condition } from '../query/list-query.ts';
import { scopeConditions } from '../query/scope.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
import { uniqueFieldsOf } from '../schema/indexes.ts';
import { writerOf } from '../store/codec.ts';
import type { Cause } from '../store/event.ts';
import type { WriteCondition } from '../store/store.ts';
import { hookContext } from './hooks.ts';
import type { Values } from './validate.ts';
import { assertMatch } from './versions.ts';

/** Replaces the values of password fields by their hashes. */
export async function hashPasswords(
  context: RecordsContext,
  resource: CompiledResource,
  values: Values,
): Promise<Values> {
  const hashed = { ...values };
  for (const { name, type } of resource.fields) {
    if (type.concealed && typeof hashed[name] === 'string') {
      hashed[name] = await context.hashPassword(hashed[name]);
    }
  }
  return hashed;
}

const MAX_ATTEMPTS = 12;
const PAUSE_MS = 10;

/**
 * Makes a change that goes through only while the record is as it was when policies, rules and hooks were asked. When somebody was
 * faster they are asked again: in turn with others in this process, since of many who try at once only one gets through, and
 * after pauses of any length, since those in other processes are in no queue of this one.
 *
 * @param attempt gives what was changed; undefined when somebody was faster
 * @throws ApiError CONFLICT
 */
export async function retryOnConflict<Changed>(
  { queue }: Entity,
  id: string,
  operation: OperationContext,
  attempt: (operation: OperationContext) => Promise<Changed | undefined>,
): Promise<Changed> {
  const changed = await attempt(operation);
  if (changed !== undefined) return changed;
  return queue(id, async () => {
    for (let tried = 2; tried <= MAX_ATTEMPTS; tried++) {
      // Somebody new to whoever looks, so that the scope is asked again, too.
      const changed = await attempt({ ...operation });
      if (changed !== undefined) return changed;
      await sleep(Math.random() * tried * PAUSE_MS);
    }
    throw new ApiError('CONFLICT', 'The record is being changed by others; try again');
  });
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

/**
 * The condition under which an answer that was given for `record` still holds: a policy, rule or hook cannot be asked inside the
 * statement; whether the row is the one that it saw can.
 */
export function unchanged({ resource }: Entity, record: StoredRecord): WriteCondition[] {
  if (resource.timestamps) return [{ field: 'updatedAt', op: 'eq', value: record.updatedAt }];
  return [{ writers: [writerOf(record)!] }];
}

async function loadAllowed(
  { resource, store }: Entity,
  id: string,
  action: 'update' | 'delete',
  operation: OperationContext,
): Promise<StoredRecord> {
  if (!operation.system) return loadAuthorized(resource, store, id, action, resource.policies[action], operation);
  const record = isId(id) ? await store.read(id) : undefined;
  if (record === undefined) throw new ApiError('NOT_FOUND');
  return record;
}

/**
 * The record of a write.
 *
 * @throws ApiError UNAUTHORIZED, NOT_FOUND or FORBIDDEN, and only then PRECONDITION_FAILED: its version is not what `If-Match` asks
 */
export async function loadForWrite(
  entity: Entity,
  id: string,
  action: 'update' | 'delete',
  operation: OperationContext,
): Promise<StoredRecord> {
  const record = await loadAllowed(entity, id, action, operation);
  assertMatch(entity.versionOf, record, operation.ifMatch);
  return record;
}

/** Conditions of a write whose record was loaded and allowed: what the statement can still check, it checks again. */
export async function stillInReach(
  { resource }: Entity,
  conditions: Condition[] | undefined,
  operation: OperationContext,
): Promise<Condition[]> {
  return conditions ?? scopeConditions(resource, operation);
}
