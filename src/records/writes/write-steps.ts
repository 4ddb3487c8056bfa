import { setTimeout as sleep } from 'node:timers/promises';
import { getOrganisationRole } from '../../declare/actor.ts';
import type { StoredRecord } from '../../declare/host.ts';
import type { HookContext } from '../../declare/resource.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import { continueAsActor } from '../../rules/acting.ts';
import { authorizeLoadedRecord, loadAuthorizedRecord } from '../access/authorize.ts';
import { actorOf, identityOfOperation, type OperationContext } from '../access/operation-context.ts';
import { scopeConditions } from '../access/scope.ts';
import type { Condition } from '../query/list-query.ts';
import type { CompiledResource, Values } from '../schema/compiled.ts';
import { transactionIdOf } from '../store/codec.ts';
import type { Entity } from '../store/entity.ts';
import type { Cause } from '../store/event.ts';
import type { WriteCondition } from '../store/store.ts';
import { assertIfMatch } from '../store/versions.ts';
import { createHookContext, type HookServices } from './hooks.ts';

/** What writes need to hash passwords, and to report their changes. */
export interface WriteContext extends HookServices, Pick<Platform, 'events' | 'wake' | 'log' | 'tracing' | 'replica'> {
  /** Hashes the value of a password field, before the hash is stored. */
  hashPassword(password: string): Promise<string>;
  /**
   * Runs the work that follows a change: immediately, or, inside a transaction, after its commit.
   *
   * @param work receives the context outside of any transaction
   */
  afterCommit(work: (outside: WriteContext) => Promise<void>): Promise<void>;
}

/** The passwords of one record with their hashes, by field. They are hashed before a transaction, which other requests may wait for. */
export type PasswordHashes = Map<string, { password: string; hash: string }>;

/**
 * Copies values and replaces the values of password fields by their hashes.
 *
 * @param hashes the known hashes; hashes that are computed here are added to it
 */
export async function hashPasswords(
  context: Pick<WriteContext, 'hashPassword'>,
  resource: CompiledResource,
  values: Values,
  hashes: PasswordHashes = new Map(),
): Promise<Values> {
  const hashed = { ...values };
  for (const { name, type } of resource.fields) {
    const password = values[name];
    if (!type.concealed || typeof password !== 'string') continue;
    const known = hashes.get(name);
    const hash = known?.password === password ? known.hash : await context.hashPassword(password);
    hashes.set(name, { password, hash });
    hashed[name] = hash;
  }
  return hashed;
}

const MAX_ATTEMPTS = 12;
const RETRY_PAUSE_MS = 10;

/**
 * Runs a write that succeeds only if the record has not changed since policies, rules and hooks were evaluated. After a conflict, policies,
 * rules and hooks are evaluated again. Retries of this process wait in a queue, because only one of several concurrent writers can succeed.
 * Pauses are random, because other processes do not share this queue.
 *
 * @param attempt returns the result of the write; undefined if another writer was faster
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
    for (let attempts = 2; attempts <= MAX_ATTEMPTS; attempts++) {
      // Create a new viewer so that the scope filter is evaluated again.
      const changed = await attempt({ ...operation });
      if (changed !== undefined) return changed;
      await sleep(Math.random() * attempts * RETRY_PAUSE_MS);
    }
    throw new ApiError('CONFLICT', 'The record is being changed by other requests; try again');
  });
}

/** The actor of a write, for its outbox row. */
export function createChangeCause({ tracing }: Pick<WriteContext, 'tracing'>, operation: OperationContext): Cause {
  const { user, req, requestId, system } = operation;
  const identity = identityOfOperation(operation);
  const isOrganisation = getOrganisationRole(user) !== undefined;
  const actor = isOrganisation ? { userId: undefined, organisation: user!.id } : { userId: user?.id };
  return { ...actor, requestId, req, identity, system, trace: tracing.current() };
}

/** A stored change. */
interface Change {
  action: 'created' | 'updated' | 'deleted' | 'restored';
  record: StoredRecord;
  previous?: StoredRecord;
}

/**
 * Announces a committed change to the relay and to this process's listeners. Also informs the replica: the user who made the change must
 * see it in lists. A change without a user, such as a registration, counts as a change by the record's owner.
 */
function publishChange(
  context: WriteContext,
  resource: CompiledResource,
  change: Change,
  operation: OperationContext,
): void {
  context.wake.hint();
  const writer = operation.user?.id ?? change.record[resource.ownerField ?? ''];
  if (typeof writer === 'string') context.replica?.addWrite(writer);
  const name = `${resource.name}.${change.action}`;
  if (!context.events.has(name)) return;
  const { record, action, previous } = change;
  const { user, requestId } = operation;
  context.events.emit(name, { resource: resource.name, action, record, previous, user, requestId });
}

/**
 * Runs the steps after a committed change: notifies the relay and the listeners, then runs the `after` hook. Errors of the hook are logged:
 * the change is committed and must not look failed to the caller.
 */
export function runAfterCommitSteps(
  context: WriteContext,
  resource: CompiledResource,
  change: Change,
  operation: OperationContext,
  hook: (ctx: HookContext) => unknown,
): Promise<void> {
  const publishAndRunAfterHook = async (outside: WriteContext) => {
    publishChange(outside, resource, change, operation);
    try {
      await hook(createHookContext(outside, operation, change.action === 'restored'));
    } catch (error) {
      const { action, record } = change;
      outside.log.error({ err: error, resource: resource.name, record: record.id, action }, 'an after hook failed');
    }
  };
  // After a transaction commits, the current actor may be a different one.
  return context.afterCommit((outside) => continueAsActor(actorOf(operation), () => publishAndRunAfterHook(outside)));
}

/**
 * The condition that `record` has not changed. Policies, rules and hooks cannot run inside the statement, but the statement can check that
 * the row has not changed since they ran. Decisions based on the record then still hold.
 */
export function unchangedCondition({ resource }: Entity, record: StoredRecord): WriteCondition[] {
  if (resource.timestamps) return [{ field: 'updatedAt', op: 'eq', value: record.updatedAt }];
  return [{ writers: [transactionIdOf(record)!] }];
}

/**
 * Checks whether a record that was loaded within the scope filter may be written, with the errors of `loadAuthorizedForWrite`.
 *
 * @param record undefined if no such record exists in the scope of the caller
 */
export async function authorizeLoadedForWrite(
  { resource, store, versionOf }: Entity,
  record: StoredRecord | undefined,
  action: 'update' | 'delete',
  operation: OperationContext,
): Promise<StoredRecord> {
  if (record === undefined && operation.system) throw new ApiError('NOT_FOUND');
  const allowed = operation.system
    ? record!
    : await authorizeLoadedRecord(resource, store, record, action, resource.policies[action], operation);
  assertIfMatch(versionOf, allowed, operation.ifMatch);
  return allowed;
}

async function loadRecordIfAllowed(
  { resource, store }: Entity,
  id: string,
  action: 'update' | 'delete',
  operation: OperationContext,
): Promise<StoredRecord> {
  if (!operation.system) return loadAuthorizedRecord(resource, store, id, action, resource.policies[action], operation);
  const record = isId(id) ? await store.read(id) : undefined;
  if (record === undefined) throw new ApiError('NOT_FOUND');
  return record;
}

/**
 * Loads the record of a write.
 *
 * @throws ApiError UNAUTHORIZED, NOT_FOUND or FORBIDDEN; only after these, PRECONDITION_FAILED if its version does not match `If-Match`
 */
export async function loadAuthorizedForWrite(
  entity: Entity,
  id: string,
  action: 'update' | 'delete',
  operation: OperationContext,
): Promise<StoredRecord> {
  const record = await loadRecordIfAllowed(entity, id, action, operation);
  assertIfMatch(entity.versionOf, record, operation.ifMatch);
  return record;
}

/** The conditions of a write whose record was loaded and allowed. The statement checks these conditions again. */
export async function conditionsAfterLoad(
  { resource }: Entity,
  conditions: Condition[] | undefined,
  operation: OperationContext,
): Promise<Condition[]> {
  return conditions ?? scopeConditions(resource, operation);
}
