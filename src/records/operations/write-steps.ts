import { setTimeout as sleep } from 'node:timers/promises';
import type { StoredRecord } from '../../declare/host.ts';
import type { HookContext } from '../../declare/resource.ts';
import {
  findConstraintViolation,
  findViolatedForeignKey,
  toPublicViolation,
} from '../../platform/data/postgres/errors.ts';
import { ApiError, type ErrorDetails } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { continueAsActor } from '../../rules/acting.ts';
import { authorizeLoadedRecord, loadAuthorizedRecord } from '../access/authorize.ts';
import { actorOf, identityOfOperation, type OperationContext } from '../access/operation-context.ts';
import { InputError } from '../access/rule-errors.ts';
import type { Entity, RecordsContext } from '../context.ts';
import type { Condition } from '../query/list-query.ts';
import { scopeConditions } from '../query/scope.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
import type { CompiledConstraint } from '../schema/constraints.ts';
import { fieldsOfUniqueIndex } from '../schema/indexes.ts';
import { foreignKeyNameOf, missingReferenceMessage } from '../schema/references.ts';
import { transactionIdOf } from '../store/codec.ts';
import type { Cause } from '../store/event.ts';
import type { WriteCondition } from '../store/store.ts';
import { createHookContext } from './hooks.ts';
import type { Values } from './validate.ts';
import { assertIfMatch } from './versions.ts';

/** The passwords of one record with their hashes, by field. They are hashed before a transaction, which other requests may wait for. */
export type PasswordHashes = Map<string, { password: string; hash: string }>;

/**
 * Copies values, with the values of password fields replaced by their hashes.
 *
 * @param hashes hashes that are known, to which those that are computed here are added
 */
export async function hashPasswords(
  context: RecordsContext,
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
export function changeCauseOf({ tracing }: Pick<RecordsContext, 'tracing'>, operation: OperationContext): Cause {
  const { user, req, requestId, system } = operation;
  const identity = identityOfOperation(operation);
  return { userId: user?.id, requestId, req, identity, system, trace: tracing.current() };
}

/**
 * The error details for the fields of a violated unique index. If the index has several fields, only those that every viewer sees are
 * named.
 */
function describeTakenFields(all: readonly CompiledField[]): ErrorDetails {
  // A unique value of an organisation's record is unique within the organisation.
  const fields = all.filter(({ spec }) => !spec.tenant);
  const alone = fields.length === 1;
  const named = fields.filter(({ spec, secret, visibleTo }) =>
    alone ? !spec.hidden : !secret && visibleTo === undefined,
  );
  const message = (name: string) => {
    const others = named.map((field) => field.name).filter((other) => other !== name);
    return others.length === 0 ? 'Is already taken' : `Is already taken together with ${others.join(', ')}`;
  };
  return Object.fromEntries(named.map(({ name }) => [name, message(name)]));
}

/** The error for a reference to a record that was deleted since the write checked it; undefined for any other error. */
function createDanglingReferenceError(resource: CompiledResource, error: unknown): ApiError | undefined {
  const key = findViolatedForeignKey(error);
  if (key === undefined || key.table !== resource.table) return undefined;
  const field = resource.checkedReferences.find((one) => foreignKeyNameOf(resource, one) === key.name);
  if (field === undefined) return undefined;
  const details = field.spec.hidden ? undefined : { [field.name]: missingReferenceMessage(field) };
  return new InputError('VALIDATION_ERROR', undefined, { ...(details && { details }), cause: error });
}

/** The names of fields that an error about several fields may contain: those that every viewer sees. */
function namedFields(resource: CompiledResource, names: readonly string[]): string[] {
  return names.filter((name) => {
    const { spec, secret, visibleTo } = resource.field.get(name)!;
    return !spec.tenant && !secret && visibleTo === undefined;
  });
}

const CONSTRAINT_MESSAGES = {
  exclude: 'Another record conflicts with these values',
  check: 'These values are not allowed together',
  unique: undefined,
} as const;

/** The error for a constraint of the declaration, with the declared message and the fields that every viewer sees. */
function createDeclaredConstraintError(
  resource: CompiledResource,
  { kind, fields, message: declared }: CompiledConstraint,
  cause: unknown,
): ApiError {
  const message = declared ?? CONSTRAINT_MESSAGES[kind];
  const code = kind === 'check' ? 'VALIDATION_ERROR' : 'CONFLICT';
  const details =
    message === undefined
      ? describeTakenFields(fields.map((name) => resource.field.get(name)!))
      : Object.fromEntries(namedFields(resource, fields).map((name) => [name, message]));
  return new ApiError(code, message, { ...(Object.keys(details).length > 0 && { details }), cause });
}

/** The code of Postgres for a range whose end is before its start. */
const INVALID_RANGE = '22000';

/** The error for a range of a constraint that ends before it starts, which Postgres does not name; undefined for any other error. */
function createInvalidRangeError(resource: CompiledResource, error: unknown): ApiError | undefined {
  if ((error as { code?: unknown } | null)?.code !== INVALID_RANGE) return undefined;
  const ranges = resource.constraints.flatMap(({ ranges }) => ranges);
  if (ranges.length === 0) return undefined;
  const [{ from, to }] = ranges as [{ from: string; to: string }];
  const isNamed = ranges.length === 1 && namedFields(resource, [from, to]).length === 2;
  const details = isNamed ? { [to]: `Must not be less than ${from}` } : undefined;
  return new ApiError('VALIDATION_ERROR', undefined, { ...(details && { details }), cause: error });
}

/** The error for a constraint that the project added to the table by SQL. Names the field if Postgres names its column. */
function createOwnConstraintError(resource: CompiledResource, error: unknown): ApiError {
  const { code, message } = toPublicViolation(error, resource.table)!;
  const { kind, table, column } = findConstraintViolation(error)!;
  const field = table === resource.table ? resource.fields.find((one) => one.column === column) : undefined;
  const text = kind === 'notNull' ? 'Is required' : 'Is not allowed';
  const details = field === undefined || field.spec.hidden ? undefined : { [field.name]: text };
  return new ApiError(code, message, { ...(details && { details }), cause: error });
}

/**
 * Converts a violated constraint to a 409 or a 422 for the client, also one that the project added by SQL; returns any other error unchanged.
 * The response never reveals which record has the value.
 */
export function toConflictError(resource: CompiledResource, error: unknown): unknown {
  const violation = findConstraintViolation(error);
  if (violation === undefined) return createInvalidRangeError(resource, error) ?? error;
  const declared = resource.constraints.find(({ name }) => name === violation.name);
  if (declared !== undefined) return createDeclaredConstraintError(resource, declared, error);
  const dangling = createDanglingReferenceError(resource, error);
  if (dangling !== undefined) return dangling;
  if (violation.kind !== 'unique') return createOwnConstraintError(resource, error);
  const details = describeTakenFields(fieldsOfUniqueIndex(resource, violation.name));
  return new ApiError('CONFLICT', undefined, { ...(Object.keys(details).length > 0 && { details }), cause: error });
}

/** A stored change. */
interface Change {
  action: 'created' | 'updated' | 'deleted' | 'restored';
  record: StoredRecord;
  previous?: StoredRecord;
}

/**
 * Notifies the relay and this process's listeners of a committed change, and the replica, so that the user who made the change sees it in
 * lists. A change without a user counts as one of the record's owner: a registration, for example.
 */
function publishChange(
  context: RecordsContext,
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
  context: RecordsContext,
  resource: CompiledResource,
  change: Change,
  operation: OperationContext,
  hook: (ctx: HookContext) => unknown,
): Promise<void> {
  const publishAndRunAfterHook = async (outside: RecordsContext) => {
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
 * The condition that `record` has not changed, so that decisions based on it still hold. Policies, rules and hooks cannot run inside the
 * statement, but the statement can check that the row has not changed since policies, rules and hooks ran.
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
